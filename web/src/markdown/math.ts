/** Formulas, by KaTeX, loaded when the first one appears. */
type Katex = typeof import('katex')['default']

let katex: Katex | null = null
let loading: Promise<Katex> | undefined

/** Typesets into `node`, at once if KaTeX is here and otherwise when it has come; until then it holds the source. */
export function renderMath(node: HTMLElement, tex: string, display: boolean): void {
  if (katex) typeset(katex, node, tex, display)
  else load().then((loaded) => { typeset(loaded, node, tex, display) }, () => undefined)
}

function typeset(engine: Katex, node: HTMLElement, tex: string, display: boolean): void {
  // trust: false forbids links and pictures; the limits keep a hostile formula from filling the page.
  engine.render(tex, node, { displayMode: display, throwOnError: false, trust: false, maxSize: 20, maxExpand: 200 })
}

function load(): Promise<Katex> {
  loading ??= Promise.all([import('katex'), import('katex/dist/katex.min.css')]).then(([module]) => (katex = module.default))
  loading.catch(() => (loading = undefined))
  return loading
}

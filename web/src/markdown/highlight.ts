/** Colours in code, loaded when the first finished block of code with a known language appears. */
import type { HLJSApi, LanguageFn } from 'highlight.js'

const LANGUAGES: Record<string, () => Promise<{ default: LanguageFn }>> = {
  bash: () => import('highlight.js/lib/languages/bash'),
  c: () => import('highlight.js/lib/languages/c'),
  cpp: () => import('highlight.js/lib/languages/cpp'),
  css: () => import('highlight.js/lib/languages/css'),
  go: () => import('highlight.js/lib/languages/go'),
  java: () => import('highlight.js/lib/languages/java'),
  javascript: () => import('highlight.js/lib/languages/javascript'),
  json: () => import('highlight.js/lib/languages/json'),
  python: () => import('highlight.js/lib/languages/python'),
  rust: () => import('highlight.js/lib/languages/rust'),
  sql: () => import('highlight.js/lib/languages/sql'),
  typescript: () => import('highlight.js/lib/languages/typescript'),
  xml: () => import('highlight.js/lib/languages/xml'),
  yaml: () => import('highlight.js/lib/languages/yaml'),
}

const ALIASES: Record<string, string> = {
  'c++': 'cpp',
  golang: 'go',
  html: 'xml',
  js: 'javascript',
  jsx: 'javascript',
  py: 'python',
  python3: 'python',
  rs: 'rust',
  sh: 'bash',
  shell: 'bash',
  svg: 'xml',
  ts: 'typescript',
  tsx: 'typescript',
  yml: 'yaml',
  zsh: 'bash',
}

const LONGEST = 50_000

let core: Promise<HLJSApi> | undefined
const loading = new Map<string, Promise<HLJSApi>>()
const ready = new Map<string, HLJSApi>()

/** Colours `node` at once if the language is here, and otherwise when it has come. */
export function highlight(node: HTMLElement, text: string, language: string): void {
  const name = ALIASES[language] ?? language
  if (!Object.hasOwn(LANGUAGES, name) || text.length > LONGEST) return
  const hljs = ready.get(name)
  if (hljs) colour(node, text, name, hljs)
  // A network failure leaves the code as it is: plain, and readable.
  else load(name).then((loaded) => { colour(node, text, name, loaded) }, () => undefined)
}

function colour(node: HTMLElement, text: string, language: string, hljs: HLJSApi): void {
  // The library escapes the code itself; the rest of its result is its own <span class="hljs-…">.
  node.innerHTML = hljs.highlight(text, { language, ignoreIllegals: true }).value
}

function load(name: string): Promise<HLJSApi> {
  let pending = loading.get(name)
  if (!pending) {
    pending = fetchLanguage(name)
    loading.set(name, pending)
    pending.catch(() => loading.delete(name))
  }
  return pending
}

async function fetchLanguage(name: string): Promise<HLJSApi> {
  core ??= import('highlight.js/lib/core').then((module) => module.default)
  const [hljs, language] = await Promise.all([core, LANGUAGES[name]!()])
  hljs.registerLanguage(name, language.default)
  ready.set(name, hljs)
  return hljs
}

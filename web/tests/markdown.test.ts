import { describe, expect, it } from 'vitest'
import { safeAddress } from '../src/markdown/dom'
import { finishedCount, parse } from '../src/markdown/parse'
import { StreamRenderer } from '../src/markdown/stream'

const LABELS = { copy: 'Copy', image: 'Picture', done: 'done', open: 'open' }

function renderer(): { root: HTMLElement; stream: StreamRenderer } {
  const root = document.createElement('div')
  return { root, stream: new StreamRenderer(root, LABELS) }
}

function render(source: string, streaming = false): HTMLElement {
  const { root, stream } = renderer()
  stream.update(source, streaming)
  return root
}

/** The blocks as one list, wherever the border between the finished ones and the tail lies. */
function blocks(root: HTMLElement): string {
  const tail = root.querySelector(':scope > .tail')
  return [...root.children].map((child) => (child === tail ? child.innerHTML : child.outerHTML)).join('')
}

const ALLOWED_ATTRIBUTES = new Set(
  ['href', 'target', 'rel', 'class', 'type', 'tabindex', 'start', 'disabled', 'aria-label', 'data-copy', 'data-align'],
)

const HOSTILE = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  'a <b onclick="alert(1)">b</b> <svg/onload=alert(1)>',
  '<!-- --><iframe src="https://x.example"></iframe>',
  '[x](javascript:alert(1)) [y](JaVaScRiPt:alert(1)) [z](data:text/html,<script>1</script>)',
  '[tab](java\tscript:alert(1)) [amp](javascript&colon;alert(1)) [vb](vbscript:x)',
  '![x](javascript:alert(1)) ![y](https://tracker.example/p.png)',
  '[q](https://a.example/"onmouseover="alert(1) "title\\" onclick=1")',
  '<https://ok.example/?a="><img src=x>',
  '```html\n<script>alert(1)</script>\n```',
  '```"><img src=x onerror=alert(1)>\nx\n```',
  '`<img src=x onerror=alert(1)>`',
  '| <img src=x> | b |\n| --- | --- |\n| <script>1</script> | &lt;img src=x&gt; |',
  '- <details open ontoggle=alert(1)>\n  <style>*{display:none}</style>',
  '> <form action=https://x.example><input name=p>',
  '&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x&#62; &NewLine;',
  '[ref][r]\n\n[r]: javascript:alert(1) "<img src=x>"',
  '# <math><mtext><script>1</script></mtext></math>',
  '$$<img src=x onerror=alert(1)>$$ and \\(\\href{javascript:alert(1)}{x}\\)',
]

describe('what a model writes', () => {
  it.each(HOSTILE)('never becomes markup of its own: %s', (source) => {
    for (let end = 1; end <= source.length; end += 1) {
      const root = render(source.slice(0, end), end < source.length)
      expect(root.querySelector('script, img, iframe, svg, style, form, object, embed, video, audio, details, b, base, link, meta')).toBeNull()
      for (const node of root.querySelectorAll('*')) {
        for (const { name } of node.attributes) expect(ALLOWED_ATTRIBUTES.has(name), `${name} in ${node.outerHTML}`).toBe(true)
      }
      for (const anchor of root.querySelectorAll('a')) expect(anchor.getAttribute('href')).toMatch(/^(?:https?:\/\/|mailto:)/)
    }
  })

  it('is shown as it stands where it is HTML', () => {
    expect(render('<b>bold</b> & **strong**').textContent).toBe('<b>bold</b> & strong')
    expect(render('<div>\n*x*\n</div>').querySelector('em')?.textContent).toBe('x')
  })

  it('links to nothing but the web and mail', () => {
    expect(safeAddress('https://a.example/x')).toBe('https://a.example/x')
    expect(safeAddress('mailto:a@b.example')).toBe('mailto:a@b.example')
    for (const bad of ['javascript:1', 'data:text/html,1', 'file:///etc/passwd', '/relative', '//host', '#x', ' \u0001javascript:1']) {
      expect(safeAddress(bad)).toBeNull()
    }
  })

  it('opens links apart from this page', () => {
    const anchor = render('[x](https://a.example)').querySelector('a')
    expect(anchor?.getAttribute('rel')).toContain('noopener')
    expect(anchor?.getAttribute('rel')).toContain('nofollow')
    expect(anchor?.target).toBe('_blank')
  })

  it('shows pictures as links, so that none is loaded', () => {
    const root = render('![a cat](https://a.example/cat.png)')
    expect(root.querySelector('a')?.textContent).toBe('Picture: a cat')
  })

  it('reads character references in text but not in code', () => {
    expect(render('a &amp; b &eacute; &#x4e2d; &nosuch;').textContent).toBe('a & b é 中 &nosuch;')
    expect(render('`&amp;`').querySelector('code')?.textContent).toBe('&amp;')
  })

  it('survives nesting without end', () => {
    const deep = `${'> '.repeat(20_000)}end`
    expect(render(deep).textContent).toContain('end')
  })
})

describe('markdown', () => {
  it('has lists, tables, code and tasks', () => {
    const root = render('3. c\n4. d\n\n- [x] done\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n\n```py\nx < 1\n```\n')
    expect(root.querySelector('ol')?.getAttribute('start')).toBe('3')
    expect(root.querySelector<HTMLInputElement>('li.task input')?.checked).toBe(true)
    expect(root.querySelector<HTMLElement>('td:nth-child(2)')?.dataset.align).toBe('right')
    expect(root.querySelector('pre code')?.textContent).toBe('x < 1')
    expect(root.querySelector('figcaption')?.firstChild?.textContent).toBe('py')
  })

  it.each([
    ['$x^2$', 1],
    ['\\(x\\)', 1],
    ['$$x$$', 1],
    ['\\[\nx\n\\]', 1],
    ['it costs $5 and then $10', 0],
    ['\\$5 and `$x$`', 0],
    ['$ x $', 0],
    ['$$a\n\nb$$', 0],
    ['US$5–US$10', 0],
  ])('finds in %s %i formulas', (source, count) => {
    expect(render(source).querySelectorAll('.math')).toHaveLength(count)
  })

  it('typesets formulas when KaTeX has come', async () => {
    const root = render('$x^2$ and \\[\\frac12\\]')
    await expect.poll(() => root.querySelectorAll('.math .katex').length, { timeout: 5_000 }).toBe(2)
    expect(root.querySelector('annotation')?.textContent).toBe('x^2')
  })

  it('colours known languages and escapes what it colours', async () => {
    const root = render('```js\nconst a = "<img src=x>"\n```\n')
    await expect.poll(() => root.querySelectorAll('.hljs-keyword').length, { timeout: 5_000 }).toBe(1)
    expect(root.querySelector('img')).toBeNull()
    expect(root.querySelector('code')?.textContent).toBe('const a = "<img src=x>"')
  })
})

const DOCUMENTS = [
  'One paragraph,\nover two lines.\n\nAnother with **bold** and `code`.\n',
  '# Head\n\n- a\n- b\n\n  in b\n\n- c\n\nafter\n',
  '1. one\n\n2. two\n\n   ```py\n   x\n   ```\n\n3. three\n\ntext\n',
  '| a | b |\n| - | - |\n| 1 | 2 |\n| 3 | 4 |\n\nend\n',
  'before\n\n```python\ndef f():\n\n    return 1\n\n# not a heading\n```\n\nafter\n',
  'sum\n\n$$\n\\sum\n- x\n= y\n$$\n\nafter $x$ text\n',
  '> quote\n> more\n\n> again\n\n---\n\nHead\n====\n\nend',
  '天空😀\n\n- 一\n- 二\n\n**粗**\n',
  '\\[\nx = 1\n\\]\n\n    indented\n\n    code\n\nend\n',
]

describe('streaming', () => {
  it.each(DOCUMENTS)('ends in what rendering at once gives: %j', (source) => {
    for (const step of [1, 3, 7]) {
      const { root, stream } = renderer()
      for (let end = step; end < source.length; end += step) stream.update(source.slice(0, end), true)
      stream.update(source, true)
      const streamed = root.textContent
      stream.update(source, false)
      expect(blocks(root)).toBe(blocks(render(source)))
      expect(streamed).toBe(root.textContent)
    }
  })

  it.each(DOCUMENTS)('keeps the source in its tokens: %j', (source) => {
    expect(parse(source, true).map((token) => token.raw).join('')).toBe(source)
  })

  it('leaves finished blocks alone', () => {
    const { root, stream } = renderer()
    stream.update('first\n\nsecond line\n', true)
    const first = root.querySelector('p')
    stream.update('first\n\nsecond line\n\nthird line\n\nfourth', true)
    expect(root.querySelector('p')).toBe(first)
    expect(root.querySelectorAll('p')).toHaveLength(4)
    expect(root.querySelectorAll('.tail p')).toHaveLength(2)
  })

  it('begins again when a retry changes what was shown', () => {
    const { root, stream } = renderer()
    stream.update('first\n\nsecond line\n\nthird\n', true)
    stream.update('first\n\nother', true)
    expect(root.textContent).toBe('firstother')
    stream.update('', true)
    expect(root.textContent).toBe('')
  })

  it('shows code whose fence is still open', () => {
    expect(render('```py\nx = 1\n', true).querySelector('pre code')?.textContent).toContain('x = 1')
  })

  it('keeps an open formula as text', () => {
    const root = render('so\n\n$$\nx = 1\n- y', true)
    expect(root.querySelector('.math-open')?.textContent).toContain('x = 1')
    expect(root.querySelector('li')).toBeNull()
  })

  it('knows references that are defined at the end', () => {
    const source = 'See [this][1].\n\nMore.\n\nAnd more.\n\n[1]: https://a.example/\n'
    expect(render(source).querySelector('a')?.href).toBe('https://a.example/')
  })

  it('counts no block as finished that the next line can still change', () => {
    expect(finishedCount(parse('- a\n\n-', true))).toBe(0)
    expect(finishedCount(parse('para\n', true))).toBe(0)
    expect(finishedCount(parse('para\n\nnext line\n', true))).toBeGreaterThan(0)
  })
})

/**
 * Tokens to DOM nodes. Nothing a model wrote is ever parsed as HTML: elements come from this list alone,
 * text goes in as text, and addresses are checked. Pictures are links, since loading one would tell a
 * stranger who reads the answer.
 */
import type { Token, Tokens } from 'marked'
import { highlight } from './highlight'
import { renderMath } from './math'
import type { MathToken } from './parse'

export interface Labels {
  copy: string
  image: string
  done: string
  open: string
}

const SAFE_PROTOCOLS = new Set(['http:', 'https:', 'mailto:'])

export function safeAddress(href: string): string | null {
  let url: URL
  try {
    url = new URL(href.trim())
  } catch {
    return null
  }
  return SAFE_PROTOCOLS.has(url.protocol) ? url.href : null
}

export class Builder {
  /** `live` leaves out what is too dear to repeat at each frame for a block that is still growing. */
  constructor(
    private readonly labels: Labels,
    private readonly live: boolean,
  ) {}

  build(tokens: readonly Token[]): DocumentFragment {
    const fragment = document.createDocumentFragment()
    for (const token of tokens) this.#append(fragment, token)
    return fragment
  }

  #append(parent: Node, token: Token): void {
    const node = this.#node(token)
    if (node !== null) parent.appendChild(node)
  }

  #node(token: Token): Node | null {
    switch (token.type) {
      case 'space':
      case 'def':
        return null
      case 'heading':
        return this.#element(`h${Math.min(6, (token as Tokens.Heading).depth + 2)}`, token.tokens)
      case 'paragraph':
        return this.#element('p', token.tokens)
      case 'blockquote':
      case 'strong':
      case 'em':
      case 'del':
        return this.#element(token.type, token.tokens)
      case 'hr':
      case 'br':
        return document.createElement(token.type)
      case 'list':
        return this.#list(token as Tokens.List)
      case 'table':
        return this.#table(token as Tokens.Table)
      case 'code':
        return this.#code(token as Tokens.Code)
      default:
        return this.#inline(token)
    }
  }

  #inline(token: Token): Node {
    switch (token.type) {
      case 'codespan':
        return element('code', (token as Tokens.Codespan).text)
      case 'checkbox':
        return this.#checkbox((token as Tokens.Checkbox).checked)
      case 'link':
        return this.#link(token as Tokens.Link)
      case 'image':
        return this.#image(token as Tokens.Image)
      case 'math_block':
      case 'math_inline':
        return this.#math(token as unknown as MathToken)
      case 'escape':
        return document.createTextNode((token as Tokens.Escape).text)
      case 'text':
        return token.tokens ? this.build(token.tokens) : document.createTextNode(decodeEntities((token as Tokens.Text).text))
      default:
        return document.createTextNode(token.raw)
    }
  }

  #element(name: string, tokens: readonly Token[] | undefined): HTMLElement {
    const node = document.createElement(name)
    node.append(this.build(tokens ?? []))
    return node
  }

  #list(token: Tokens.List): HTMLElement {
    const list = document.createElement(token.ordered ? 'ol' : 'ul')
    if (token.ordered && typeof token.start === 'number' && token.start !== 1) list.setAttribute('start', String(token.start))
    for (const item of token.items) {
      const node = this.#element('li', item.tokens)
      if (item.task) node.className = 'task'
      list.append(node)
    }
    return list
  }

  #table(token: Tokens.Table): HTMLElement {
    const table = document.createElement('table')
    const row = (cells: readonly Tokens.TableCell[], name: string): HTMLElement => {
      const line = document.createElement('tr')
      for (const cell of cells) {
        const node = this.#element(name, cell.tokens)
        if (cell.align) node.dataset.align = cell.align
        line.append(node)
      }
      return line
    }
    const head = document.createElement('thead')
    head.append(row(token.header, 'th'))
    const body = document.createElement('tbody')
    body.append(...token.rows.map((cells) => row(cells, 'td')))
    table.append(head, body)
    return scrollable('table-wrap', table)
  }

  #code(token: Tokens.Code): HTMLElement {
    const language = token.lang?.split(/\s/)[0]?.toLowerCase() ?? ''
    const figure = element('figure', '', 'code')
    const bar = element('figcaption', language)
    const copy = element('button', this.labels.copy)
    copy.setAttribute('type', 'button')
    copy.dataset.copy = ''
    bar.append(copy)
    const code = element('code', token.text)
    if (!this.live && language !== '') highlight(code, token.text, language)
    const pre = document.createElement('pre')
    pre.tabIndex = 0
    pre.append(code)
    figure.append(bar, pre)
    return figure
  }

  #checkbox(checked: boolean): HTMLElement {
    const box = document.createElement('input')
    box.type = 'checkbox'
    box.disabled = true
    box.checked = checked
    box.setAttribute('aria-label', checked ? this.labels.done : this.labels.open)
    return box
  }

  #link(token: Tokens.Link): Node {
    const href = safeAddress(token.href)
    if (href === null) return this.build(token.tokens)
    const anchor = this.#element('a', token.tokens)
    return outward(anchor, href)
  }

  #image(token: Tokens.Image): Node {
    const label = `${this.labels.image}: ${token.text || token.href}`
    const href = safeAddress(token.href)
    return href === null ? document.createTextNode(label) : outward(element('a', label), href)
  }

  #math(token: MathToken): Node {
    if (token.open) return element('p', token.raw, 'math-open')
    const node = element(token.type === 'math_block' ? 'div' : 'span', token.raw, token.display ? 'math display' : 'math')
    renderMath(node, token.tex, token.display)
    return node
  }
}

function element(name: string, text: string, className = ''): HTMLElement {
  const node = document.createElement(name)
  node.textContent = text
  if (className !== '') node.className = className
  return node
}

function outward(anchor: HTMLElement, href: string): HTMLElement {
  anchor.setAttribute('href', href)
  anchor.setAttribute('target', '_blank')
  anchor.setAttribute('rel', 'noopener noreferrer nofollow ugc')
  return anchor
}

function scrollable(className: string, child: HTMLElement): HTMLElement {
  const wrap = element('div', '', className)
  wrap.tabIndex = 0
  wrap.append(child)
  return wrap
}

const ENTITY = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});/gi

/** Markdown keeps character references in text. Only a single reference is ever handed to the parser. */
function decodeEntities(text: string): string {
  return text.includes('&') ? text.replace(ENTITY, decodeEntity) : text
}

function decodeEntity(reference: string): string {
  const area = document.createElement('textarea')
  area.innerHTML = reference
  return area.value
}

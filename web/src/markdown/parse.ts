/** Markdown to tokens. Raw HTML is not a construct here: it stays the text that it is. */
import { Marked, type Token, type TokenizerAndRendererExtension } from 'marked'

export interface MathToken {
  type: 'math_block' | 'math_inline'
  raw: string
  tex: string
  display: boolean
  /** The closing mark has not come yet. */
  open: boolean
}

// A formula never spans an empty line: so a stray dollar sign cannot swallow the rest of an answer.
const BODY = String.raw`(?:[^\n]|\n(?![ \t]*\n))+?`
const BLOCK = new RegExp(String.raw`^ {0,3}(?:\$\$(${BODY})\$\$|\\\[(${BODY})\\\])[ \t]*(?:\n|$)`)
const OPEN_BLOCK = new RegExp(String.raw`^ {0,3}(?:\$\$|\\\[)((?:[^\n]|\n(?![ \t]*\n))*)$`)
const DISPLAY_IN_LINE = new RegExp(String.raw`^(?:\$\$(${BODY})\$\$|\\\[(${BODY})\\\])`)
const PARENTHESES = new RegExp(String.raw`^\\\((${BODY})\\\)`)
// As in Pandoc: no space inside the dollars and no digit after them, so that "$5 and $10" stays money.
const DOLLARS = /^\$(?![\s$])((?:\\[^\n]|[^\\$\n])+?)(?<!\s)\$(?!\d)/

function mathBlock(streaming: boolean): TokenizerAndRendererExtension {
  return {
    name: 'math_block',
    level: 'block',
    start: (src) => src.match(/(?:^|\n) {0,3}(?:\$\$|\\\[)/)?.index,
    tokenizer(src): MathToken | undefined {
      const whole = BLOCK.exec(src)
      if (whole) return math('math_block', whole[0], whole[1] ?? whole[2] ?? '', true)
      const open = streaming ? OPEN_BLOCK.exec(src) : null
      return open ? { ...math('math_block', open[0], open[1] ?? '', true), open: true } : undefined
    },
  }
}

const mathInline: TokenizerAndRendererExtension = {
  name: 'math_inline',
  level: 'inline',
  start: (src) => src.match(/\$|\\[([]/)?.index,
  tokenizer(src): MathToken | undefined {
    const display = DISPLAY_IN_LINE.exec(src)
    if (display) return math('math_inline', display[0], display[1] ?? display[2] ?? '', true)
    const inline = PARENTHESES.exec(src) ?? DOLLARS.exec(src)
    return inline ? math('math_inline', inline[0], inline[1] ?? '', false) : undefined
  },
}

function math(type: MathToken['type'], raw: string, tex: string, display: boolean): MathToken {
  return { type, raw, tex: tex.trim(), display, open: false }
}

function parser(streaming: boolean): Marked {
  return new Marked({
    gfm: true,
    extensions: [mathBlock(streaming), mathInline],
    tokenizer: { html: () => undefined, tag: () => undefined },
  })
}

const whole = parser(false)
const unfinished = parser(true)

/** Top-level tokens; their `raw` parts joined are the source again. */
export function parse(source: string, streaming: boolean): Token[] {
  try {
    return (streaming ? unfinished : whole).lexer(source)
  } catch {
    // An answer must be readable even where its nesting is too deep for the parser.
    return [{ type: 'code', raw: source, text: source, lang: '' }]
  }
}

/**
 * How many leading tokens no later text can change: those followed by a complete line of another block.
 * The rest is parsed again when more text arrives.
 */
export function finishedCount(tokens: readonly Token[]): number {
  let after = ''
  for (let i = tokens.length - 1; i >= 0; i -= 1) {
    if (/\S[^\n]*\n/.test(after)) return i + 1
    after = tokens[i]!.raw + after
  }
  return 0
}

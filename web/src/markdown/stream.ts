import { Builder, type Labels } from './dom'
import { finishedCount, parse } from './parse'

/**
 * Shows a growing answer: finished blocks are built once and left alone, only the tail is built anew.
 * The cost of an update is that of the last block, not that of the answer.
 */
export class StreamRenderer {
  readonly #tail = document.createElement('div')
  #done = ''
  #shown = ''
  #final = false

  constructor(
    private readonly root: HTMLElement,
    private readonly labels: Labels,
  ) {
    this.#tail.className = 'tail'
    root.replaceChildren(this.#tail)
  }

  update(source: string, streaming: boolean): void {
    const text = source.replace(/\r\n?/g, '\n')
    if (text === this.#shown && this.#final === !streaming) return
    // After a retry the text may differ from an earlier point on: begin again.
    if (!text.startsWith(this.#done)) this.#reset()
    this.#shown = text
    this.#final = !streaming
    if (streaming) this.#grow(text)
    else this.#finish(text)
  }

  #grow(text: string): void {
    const tokens = parse(text.slice(this.#done.length), true)
    const count = finishedCount(tokens)
    const finished = tokens.slice(0, count)
    if (count > 0) {
      this.#tail.before(new Builder(this.labels, false).build(finished))
      this.#done += finished.map((token) => token.raw).join('')
    }
    this.#tail.replaceChildren(new Builder(this.labels, true).build(tokens.slice(count)))
  }

  /** The whole answer at once: only now are references that were defined further down known. */
  #finish(text: string): void {
    this.#reset()
    this.#tail.before(new Builder(this.labels, false).build(parse(text, false)))
  }

  #reset(): void {
    this.#done = ''
    this.#tail.replaceChildren()
    this.root.replaceChildren(this.#tail)
  }
}

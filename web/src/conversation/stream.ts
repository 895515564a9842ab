/** A server-sent event stream that survives lost connections and goes on after the last event it saw. */

export type Link = 'idle' | 'connecting' | 'live' | 'lost'

export interface Source {
  onopen: (() => void) | null
  onerror: (() => void) | null
  addEventListener(name: string, listener: (event: { data: string; lastEventId: string }) => void): void
  close(): void
}

export interface StreamOptions {
  names: readonly string[]
  onevent: (name: string, data: string) => void
  onlink: (link: Link) => void
  open: (after: string | null) => Source
  /** Called with each lost connection; the stream stays closed if it answers false. */
  onlost?: (attempt: number) => Promise<boolean>
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000

export function waitBefore(attempt: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1))
}

/**
 * EventSource would reconnect by itself, but not after a 503, and only after three seconds:
 * so each connection is used once, and the next is opened here.
 */
export class Stream {
  #source: Source | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #attempt = 0
  #closed = true

  constructor(
    private readonly options: StreamOptions,
    public lastId: string | null = null,
  ) {}

  start(): void {
    this.#closed = false
    this.#attempt = 0
    this.#connect('connecting')
  }

  /** Ends for good: an EventSource left open after its last event would connect again for ever. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#drop()
    this.options.onlink('idle')
  }

  /** Connects at once instead of waiting, for when the browser says that it is online again. */
  hurry(): void {
    if (this.#closed || this.#source !== null) return
    clearTimeout(this.#timer)
    this.#connect('lost')
  }

  #connect(link: Link): void {
    this.#drop()
    this.options.onlink(link)
    const source = this.options.open(this.lastId)
    this.#source = source
    source.onopen = () => {
      this.options.onlink('live')
    }
    source.onerror = () => void this.#lose()
    for (const name of this.options.names) {
      source.addEventListener(name, (event) => {
        if (this.#source !== source) return
        this.#attempt = 0
        if (event.lastEventId !== '') this.lastId = event.lastEventId
        this.options.onevent(name, event.data)
      })
    }
  }

  async #lose(): Promise<void> {
    this.#drop()
    if (this.#closed) return
    this.#attempt += 1
    this.options.onlink('lost')
    const goOn = (await this.options.onlost?.(this.#attempt)) ?? true
    if (this.#closed) return
    if (!goOn) {
      this.close()
      return
    }
    this.#timer = setTimeout(() => {
      this.#connect('lost')
    }, waitBefore(this.#attempt))
  }

  #drop(): void {
    if (this.#source === null) return
    this.#source.onopen = null
    this.#source.onerror = null
    this.#source.close()
    this.#source = null
  }
}

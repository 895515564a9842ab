import { Stream, type Link, type Source } from '../conversation/stream'
import { boardPath, getBoard } from './api'
import { address, ApiError } from './http'
import type { Board } from './types'
import { movedModels } from './standings'

const POLL_MS = 10_000
const POLL_AFTER_LOSSES = 3
const HIGHLIGHT_MS = 4_000

/** The live board: pushed where the stream works, asked for every few seconds where it does not. */
export class BoardStore {
  board = $state.raw<Board | null>(null)
  moved = $state.raw<ReadonlySet<string>>(new Set())
  link = $state<Link>('idle')
  polling = $state(false)
  failure = $state.raw<ApiError | null>(null)

  /** Whether the board shown is still that of the view before. */
  stale = $state(false)

  #stream: Stream
  #query: string
  #poll: ReturnType<typeof setInterval> | undefined
  #fade: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly name: string,
    query = '',
  ) {
    this.#query = query
    this.#stream = this.#follow(query)
  }

  #follow(query: string): Stream {
    return new Stream({
      names: ['board'],
      open: () => new EventSource(address(boardPath(this.name, query, '/events'))) as unknown as Source,
      onevent: (_, data) => {
        if (query === this.#query) this.#receive(data)
      },
      onlink: (link) => {
        this.link = link
        if (link === 'live') this.#stopPolling()
      },
      onlost: (attempt) => {
        if (attempt >= POLL_AFTER_LOSSES || this.board === null) this.#startPolling()
        return Promise.resolve(true)
      },
    })
  }

  /** Another view of the same votes; the board before stays in sight until it has come. */
  show(query: string): void {
    if (query === this.#query) return
    this.#query = query
    this.#stream.close()
    this.#stopPolling()
    this.failure = null
    this.stale = this.board !== null
    this.#stream = this.#follow(query)
    this.#stream.start()
    void this.refresh()
  }

  start(): void {
    this.#stream.start()
  }

  dispose(): void {
    this.#stream.close()
    this.#stopPolling()
    clearTimeout(this.#fade)
  }

  async refresh(): Promise<void> {
    const query = this.#query
    try {
      const board = await getBoard(this.name, query)
      if (query === this.#query) this.#take(board)
    } catch (reason) {
      if (query !== this.#query) return
      this.failure = reason instanceof ApiError ? reason : new ApiError(0, 'unexpected', '')
    }
  }

  #receive(data: string): void {
    try {
      this.#take(JSON.parse(data) as Board)
    } catch {
      void this.refresh()
    }
  }

  #take(board: Board): void {
    this.failure = null
    // Between two views everything differs, and nothing has moved.
    if (this.board !== null && !this.stale) this.#mark(movedModels(this.board.rows, board.rows))
    this.stale = false
    this.board = board
  }

  #mark(moved: ReadonlySet<string>): void {
    if (moved.size === 0) return
    this.moved = moved
    clearTimeout(this.#fade)
    this.#fade = setTimeout(() => (this.moved = new Set()), HIGHLIGHT_MS)
  }

  #startPolling(): void {
    if (this.#poll !== undefined) return
    this.polling = true
    void this.refresh()
    this.#poll = setInterval(() => void this.refresh(), POLL_MS)
  }

  #stopPolling(): void {
    clearInterval(this.#poll)
    this.#poll = undefined
    this.polling = false
  }
}

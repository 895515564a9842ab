import { Stream, type Link, type Source } from '../conversation/stream'
import { call, address, ApiError } from './http'
import type { Round, RoundBoard, RoundQuestion, RoundQuestions } from './types'
import { withQuery } from './view'

const POLL_MS = 10_000
const POLL_AFTER_LOSSES = 3

export const roundPath = (id: string, part = ''): string => `/arena/rounds/${encodeURIComponent(id)}${part}`

/** A round and its board as they go on: pushed where the stream works, asked for now and then where it does not. */
export class RoundStore {
  round = $state.raw<Round | null>(null)
  board = $state.raw<RoundBoard | null>(null)
  link = $state<Link>('idle')
  polling = $state(false)
  failure = $state.raw<ApiError | null>(null)

  #stream: Stream
  #poll: ReturnType<typeof setInterval> | undefined

  constructor(readonly id: string) {
    this.#stream = new Stream({
      names: ['progress', 'board'],
      open: () => new EventSource(address(roundPath(id, '/events'))) as unknown as Source,
      onevent: (name, data) => {
        this.#receive(name, data)
      },
      onlink: (link) => {
        this.link = link
        if (link === 'live') this.#stopPolling()
      },
      onlost: (attempt) => {
        // A round that is not there will not come; anything else may.
        if (this.failure?.status === 404 || this.failure?.status === 422) return Promise.resolve(false)
        if (attempt >= POLL_AFTER_LOSSES) this.#startPolling()
        return Promise.resolve(true)
      },
    })
  }

  start(): void {
    void this.refresh()
    this.#stream.start()
  }

  dispose(): void {
    this.#stream.close()
    this.#stopPolling()
  }

  async refresh(): Promise<void> {
    try {
      const [round, board] = await Promise.all([call<Round>(roundPath(this.id)), call<RoundBoard>(roundPath(this.id, '/board'))])
      this.round = round
      this.#take(board)
      this.failure = null
    } catch (reason) {
      this.failure = reason instanceof ApiError ? reason : new ApiError(0, 'unexpected', '')
    }
  }

  #receive(name: string, data: string): void {
    try {
      if (name === 'progress') this.round = JSON.parse(data) as Round
      else this.#take(JSON.parse(data) as RoundBoard)
      this.failure = null
    } catch {
      void this.refresh()
    }
  }

  /** What was asked for may come behind what was pushed meanwhile. */
  #take(board: RoundBoard): void {
    if (this.board === null || board.merged >= this.board.merged) this.board = board
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

/** The questions of a round, page by page; those that are there can be chosen from at once. */
export class QuestionBank {
  questions = $state.raw<RoundQuestion[]>([])
  failure = $state.raw<ApiError | null>(null)
  loading = $state(false)

  #next: number | null = 0
  #disposed = false

  constructor(private readonly round: string) {}

  /** Goes on where it stopped. */
  async load(): Promise<void> {
    if (this.loading) return
    this.loading = true
    this.failure = null
    try {
      while (this.#next !== null && !this.#disposed) {
        const query = new URLSearchParams({ skip: String(this.#next) }).toString()
        const page = await call<RoundQuestions>(withQuery(roundPath(this.round, '/questions'), query))
        this.questions = [...this.questions, ...page.questions]
        this.#next = page.next
      }
    } catch (reason) {
      this.failure = reason instanceof ApiError ? reason : new ApiError(0, 'unexpected', '')
    } finally {
      this.loading = false
    }
  }

  dispose(): void {
    this.#disposed = true
  }
}

import {
  castVote,
  continueConversation,
  getConversation,
  regenerateAnswer,
  startConversation,
  stopConversation,
  type Opening,
} from '../lib/api'
import { address, ApiError } from '../lib/http'
import { uuid } from '../lib/ids'
import type { Conversation, Side, Winner } from '../lib/types'
import { applyEvent, EVENT_NAMES, fromSnapshot, lastTurnSettled, leavesGap, parseEvent, type View } from './assemble'
import { Stream, type Link, type Source } from './stream'

const SETTLE_CHECKS = 5
const SETTLE_WAIT_MS = 300
const MOST_REREADS = 3

export type Doing = 'opening' | 'sending' | 'voting' | 'stopping' | 'regenerating'

/** Only after 'accepted' may the prompt be forgotten; after 'unknown' it must be sent under the same key again. */
export type Sent = 'accepted' | 'unknown' | 'refused'

/** What failed, and how to try exactly that again. */
export interface Failure {
  doing: Doing
  error: ApiError
  retry: (() => void) | null
}

/** One conversation on the screen: its state, its stream and what a person can do with it. */
export class ConversationStore {
  view = $state.raw<View | null>(null)
  link = $state<Link>('idle')
  doing = $state<Doing | null>(null)
  failure = $state.raw<Failure | null>(null)

  #stream: Stream | null = null
  #voteKey = uuid()
  #generation = 0
  #rereads = 0
  readonly #online = (): void => this.#stream?.hurry()

  constructor() {
    addEventListener('online', this.#online)
  }

  dispose(): void {
    removeEventListener('online', this.#online)
    this.reset()
  }

  reset(): void {
    this.#generation += 1
    this.#stream?.close()
    this.#stream = null
    this.#voteKey = uuid()
    this.#rereads = 0
    this.view = null
    this.failure = null
    this.doing = null
  }

  async open(id: string): Promise<void> {
    if (this.view?.id === id) return
    this.reset()
    await this.#attempt('opening', () => getConversation(id), () => void this.open(id))
  }

  async send(opening: Opening, prompt: string, key: string): Promise<Sent> {
    const view = this.view
    const ask = (): Promise<Conversation> =>
      view === null ? startConversation(opening, prompt, key) : continueConversation(view, prompt, key)
    if (await this.#attempt('sending', ask, null)) return 'accepted'
    return this.failure === null || this.failure.error.transient ? 'unknown' : 'refused'
  }

  async stop(): Promise<void> {
    const id = this.view?.id
    if (id === undefined || this.doing === 'stopping') return
    await this.#attempt('stopping', () => stopConversation(id), () => void this.stop(), (snapshot) => {
      // The stream may have told how the sides ended before this reply came: what was pending then may not be now.
      if (snapshot.state !== 'streaming') this.#adopt(snapshot)
    })
  }

  async regenerate(turn: number, side: Side): Promise<void> {
    const id = this.view?.id
    if (id === undefined) return
    await this.#attempt('regenerating', () => regenerateAnswer(id, turn, side), () => void this.regenerate(turn, side))
  }

  async vote(winner: Winner): Promise<void> {
    const view = this.view
    if (view === null || this.doing !== null) return
    const generation = this.#begin('voting')
    try {
      const { receipt, winner: counted, models } = await castVote(view.id, winner, this.#voteKey)
      if (generation === this.#generation) this.view = { ...view, state: 'voted', receipt, winner: counted, models }
    } catch (error) {
      if (generation !== this.#generation) return
      // The key belongs to the choice: another choice after a refusal is another vote.
      this.#voteKey = asApiError(error).transient ? this.#voteKey : uuid()
      this.#fail('voting', error, () => void this.vote(winner))
      if (asApiError(error).status === 409) await this.#confirm(view.id)
    } finally {
      this.#end(generation)
    }
  }

  #begin(doing: Doing): number {
    this.doing = doing
    this.failure = null
    return this.#generation
  }

  #end(generation: number): void {
    if (generation === this.#generation) this.doing = null
  }

  #fail(doing: Doing, error: unknown, retry: (() => void) | null): void {
    this.failure = { doing, error: asApiError(error), retry }
  }

  async #attempt(
    doing: Doing,
    ask: () => Promise<Conversation>,
    retry: (() => void) | null,
    take: (snapshot: Conversation) => void = (snapshot) => {
      this.#adopt(snapshot)
    },
  ): Promise<boolean> {
    const generation = this.#begin(doing)
    try {
      const snapshot = await ask()
      if (generation !== this.#generation) return false
      take(snapshot)
      return true
    } catch (error) {
      if (generation === this.#generation) this.#fail(doing, error, retry)
      return false
    } finally {
      this.#end(generation)
    }
  }

  #adopt(snapshot: Conversation): void {
    this.view = fromSnapshot(snapshot, this.view)
    if (this.view.state === 'streaming') this.#watch(this.view.id)
    else this.#stream?.close()
  }

  #watch(id: string): void {
    const lastId = this.#stream?.lastId ?? null
    this.#stream?.close()
    this.#stream = new Stream(
      {
        names: EVENT_NAMES,
        open: (after) => openSource(id, after),
        onevent: (name, data) => {
          this.#receive(id, name, data)
        },
        onlink: (link) => {
          this.link = link
        },
        onlost: (attempt) => this.#stillStreaming(id, attempt),
      },
      lastId,
    )
    this.#stream.start()
  }

  #receive(id: string, name: string, data: string): void {
    const event = parseEvent(name, data)
    const view = this.view
    if (event === null || view?.id !== id) return
    if (leavesGap(view, event) && this.#rereads < MOST_REREADS) {
      void this.#reread(id)
      return
    }
    this.view = applyEvent(view, event)
    if (lastTurnSettled(this.view)) {
      this.#stream?.close()
      void this.#confirm(id)
    }
  }

  /** Something was missed: takes the snapshot and reads the stream from its start. */
  async #reread(id: string): Promise<void> {
    this.#rereads += 1
    this.#stream?.close()
    this.#stream = null
    await this.#attempt('opening', () => getConversation(id), () => void this.#reread(id))
  }

  /** The ledger has the last word on how a turn ended: it may have been voided, or be running again. */
  async #confirm(id: string): Promise<void> {
    for (let check = 0; check < SETTLE_CHECKS; check += 1) {
      const snapshot = await this.#look(id)
      if (snapshot === 'gone') return
      if (snapshot !== null && snapshot.state !== 'streaming') {
        this.view = fromSnapshot(snapshot, this.view)
        return
      }
      if (snapshot !== null && check > 0) {
        this.#adopt(snapshot)
        return
      }
      await new Promise((resolve) => setTimeout(resolve, SETTLE_WAIT_MS * (check + 1)))
    }
  }

  /** The present snapshot, null if it cannot be had now, 'gone' if the page has moved on meanwhile. */
  async #look(id: string): Promise<Conversation | null | 'gone'> {
    const generation = this.#generation
    const turns = this.view?.turns.length ?? 0
    const snapshot = await getConversation(id).catch(() => null)
    const moved = generation !== this.#generation || this.view === null || this.view.turns.length !== turns
    return moved || !lastTurnSettled(this.view!) ? 'gone' : snapshot
  }

  /** Asked when the stream breaks: the conversation may have ended meanwhile, or be gone. */
  async #stillStreaming(id: string, attempt: number): Promise<boolean> {
    if (attempt < 2 && this.view?.state === 'streaming') return true
    const generation = this.#generation
    try {
      const snapshot = await getConversation(id)
      if (generation !== this.#generation) return false
      this.view = fromSnapshot(snapshot, this.view)
      return snapshot.state === 'streaming'
    } catch (error) {
      const found = asApiError(error)
      if (found.transient) return true
      if (generation === this.#generation) this.#fail('opening', found, null)
      return false
    }
  }
}

function openSource(id: string, after: string | null): Source {
  const query = after === null ? '' : `?after=${encodeURIComponent(after)}`
  const path = `/arena/battles/${encodeURIComponent(id)}/events${query}`
  return new EventSource(address(path), { withCredentials: true }) as unknown as Source
}

function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(0, 'unexpected', error instanceof Error ? error.message : '')
}

/**
 * What the page knows of a conversation, and how snapshots and events change it. Pure.
 *
 * Every function returns a new value where something changed and the same value where nothing did.
 */
import type {
  Answer,
  AnswerState,
  ArenaEvent,
  Conversation,
  ConversationState,
  Kind,
  Names,
  Side,
  Winner,
} from '../lib/types'

export const SIDES: readonly Side[] = ['a', 'b']

export interface AnswerView {
  state: AnswerState
  text: string
  /** The length of `text` in Unicode code points: the unit in which packets state their offset. */
  points: number
  finishReason: string | null
  message: string | null
  /** Why it has not begun, as long as it has not. */
  waiting: string | null
  /** A snapshot said this is settled: events replayed from the start of the stream no longer concern it. */
  sealed: boolean
}

export interface TurnView {
  turn: number
  prompt: string
  answers: Partial<Record<Side, AnswerView>>
}

export interface View {
  id: string
  kind: Kind
  state: ConversationState
  voidReason: string | null
  /** The side that has lost by not answering in time; the other may still be writing. */
  forfeitedBy: Side | null
  models: Names | null
  winner: Winner | null
  receipt: string | null
  turns: TurnView[]
}

export function codePoints(text: string): number {
  let count = 0
  for (let i = 0; i < text.length; i += 1) if (!isSecondHalf(text, i)) count += 1
  return count
}

/** The position in UTF-16 units of the code point numbered `offset`. */
export function unitIndex(text: string, offset: number): number {
  let seen = 0
  for (let i = 0; i < text.length; i += 1) {
    if (isSecondHalf(text, i)) continue
    if (seen === offset) return i
    seen += 1
  }
  return text.length
}

function isSecondHalf(text: string, i: number): boolean {
  const unit = text.charCodeAt(i)
  if (unit < 0xdc00 || unit > 0xdfff || i === 0) return false
  const before = text.charCodeAt(i - 1)
  return before >= 0xd800 && before <= 0xdbff
}

/** The view of a snapshot; what was streamed already stays where the snapshot does not hold the text yet. */
export function fromSnapshot(snapshot: Conversation, previous: View | null = null): View {
  const known = previous?.id === snapshot.id ? previous : null
  return {
    id: snapshot.id,
    kind: snapshot.kind,
    state: snapshot.state,
    voidReason: snapshot.void_reason,
    forfeitedBy: snapshot.forfeited_by,
    models: snapshot.models,
    winner: snapshot.winner,
    receipt: snapshot.receipt,
    turns: snapshot.turns.map((turn) => {
      const before = known?.turns.find((each) => each.turn === turn.turn)
      const answers: TurnView['answers'] = {}
      for (const side of SIDES) {
        const answer = turn.answers[side]
        if (answer) answers[side] = fromAnswer(closed(answer, snapshot), before?.answers[side])
      }
      return { turn: turn.turn, prompt: turn.prompt, answers }
    }),
  }
}

/** Nobody goes on writing once the conversation has settled: what was pending then was given up. */
function closed(answer: Answer, snapshot: Conversation): Answer {
  return answer.state === 'pending' && snapshot.state !== 'streaming' ? { ...answer, state: 'stopped' } : answer
}

function fromAnswer(answer: Answer, before: AnswerView | undefined): AnswerView {
  const pending = answer.state === 'pending'
  const text = answer.text ?? (pending && before?.state !== 'pending' ? '' : (before?.text ?? ''))
  return {
    state: answer.state,
    text,
    points: codePoints(text),
    finishReason: answer.finish_reason,
    message: answer.state === 'failed' ? (before?.message ?? null) : null,
    waiting: pending && text === '' ? (before?.waiting ?? null) : null,
    sealed: !pending,
  }
}

export function applyEvent(view: View, event: ArenaEvent): View {
  if (event.event === 'void') return { ...view, state: 'void', voidReason: event.reason, forfeitedBy: null }
  const turns = view.turns.map((turn) => {
    const answer = turn.turn === event.turn ? turn.answers[event.side] : undefined
    if (!answer || answer.sealed) return turn
    return { ...turn, answers: { ...turn.answers, [event.side]: changedAnswer(answer, event) } }
  })
  const forfeitedBy = view.state !== 'void' && event.event === 'forfeited' ? event.side : view.forfeitedBy
  const moves = view.state === 'streaming' || view.state === 'ready'
  return { ...view, turns, forfeitedBy, state: moves ? stateOf(turns, forfeitedBy) : view.state }
}

function stateOf(turns: readonly TurnView[], forfeitedBy: Side | null): ConversationState {
  if (!isSettled(turns)) return 'streaming'
  return forfeitedBy === null ? 'ready' : 'forfeited'
}

function changedAnswer(answer: AnswerView, event: Exclude<ArenaEvent, { event: 'void' }>): AnswerView {
  switch (event.event) {
    case 'packet': {
      const kept = event.offset >= answer.points ? answer.text : answer.text.slice(0, unitIndex(answer.text, event.offset))
      const points = Math.min(event.offset, answer.points) + codePoints(event.text)
      const now = { state: 'pending', text: kept + event.text, points } as const
      return { ...answer, ...now, finishReason: null, message: null, waiting: null }
    }
    case 'done':
      return {
        ...answer,
        state: event.finish_reason === 'stopped' ? 'stopped' : 'done',
        finishReason: event.finish_reason,
        waiting: null,
      }
    case 'failed':
    case 'forfeited':
      return { ...answer, state: event.event, message: event.message, waiting: null }
    case 'waiting':
      return phaseOf(answer) === 'thinking' ? { ...answer, waiting: event.message } : answer
  }
}

/** A packet that starts beyond the text held here: something was missed, and the stream must be read again. */
export function leavesGap(view: View, event: ArenaEvent): boolean {
  if (event.event !== 'packet') return false
  const answer = view.turns.find((turn) => turn.turn === event.turn)?.answers[event.side]
  return answer === undefined || (!answer.sealed && event.offset > answer.points)
}

function isSettled(turns: readonly TurnView[]): boolean {
  return answersOf(turns.at(-1)).every((answer) => answer.state !== 'pending')
}

export function lastTurnSettled(view: View): boolean {
  return isSettled(view.turns)
}

export function answersOf(turn: TurnView | undefined): AnswerView[] {
  return turn ? Object.values(turn.answers) : []
}

export type VoidCause = Side | 'both' | 'late'

/** Whose answer is missing in a void battle, or that both were late; null if the page cannot tell. */
export function voidCause(view: View): VoidCause | null {
  const [first, second] = sidesThat(view, 'failed')
  if (first !== undefined) return second === undefined ? first : 'both'
  return sidesThat(view, 'forfeited').length === SIDES.length ? 'late' : null
}

function sidesThat(view: View, state: AnswerState): Side[] {
  return SIDES.filter((side) => view.turns.some((turn) => turn.answers[side]?.state === state))
}

export function canVote(view: View): boolean {
  const answers = view.turns.flatMap(answersOf)
  return view.kind === 'battle' && view.state === 'ready' && answers.every((answer) => answer.state === 'done')
}

/** A battle goes on only from complete answers, since it must end in a vote; other kinds go on from anything. */
export function canContinue(view: View): boolean {
  if (view.state !== 'ready') return false
  return view.kind !== 'battle' || canVote(view)
}

export type Phase = 'thinking' | 'writing' | 'done' | 'length' | 'stopped' | 'failed' | 'forfeited'

export function phaseOf(answer: AnswerView): Phase {
  if (answer.state === 'pending') return answer.text === '' ? 'thinking' : 'writing'
  if (answer.state === 'done' && answer.finishReason === 'length') return 'length'
  return answer.state
}

const NEEDED: Readonly<Record<string, readonly string[]>> = {
  packet: ['text', 'offset'],
  done: ['finish_reason'],
  failed: ['message'],
  forfeited: ['message'],
  waiting: ['message'],
}
/** Every kind of event. */
export const EVENT_NAMES: readonly string[] = [...Object.keys(NEEDED), 'void']

/** The event that came under `name`, or null if it is not one this page can read. */
export function parseEvent(name: string, data: string): ArenaEvent | null {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const event = { ...value, event: name } as Record<string, unknown>
  if (name === 'void') return typeof event.reason === 'string' ? (event as unknown as ArenaEvent) : null
  if (typeof event.turn !== 'number' || (event.side !== 'a' && event.side !== 'b')) return null
  const needed = NEEDED[name]
  return needed?.every((field) => field in event) ? (event as unknown as ArenaEvent) : null
}

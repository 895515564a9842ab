/** The values of the HTTP contract in docs/reference/api.md. */

export type Side = 'a' | 'b'
export type Kind = 'battle' | 'side_by_side' | 'chat'
export type Winner = 'a' | 'b' | 'tie' | 'both_bad'
export type AnswerState = 'pending' | 'done' | 'stopped' | 'failed'
export type ConversationState = 'streaming' | 'ready' | 'voted' | 'void'
export type Names = Partial<Record<Side, string>>

export interface Answer {
  state: AnswerState
  text: string | null
  finish_reason: string | null
}

export interface Turn {
  turn: number
  prompt: string
  created_at: string
  answers: Partial<Record<Side, Answer>>
}

export interface Conversation {
  id: string
  kind: Kind
  state: ConversationState
  void_reason: string | null
  created_at: string
  models: Names | null
  winner: Winner | null
  receipt: string | null
  turns: Turn[]
}

export interface ConversationSummary {
  id: string
  kind: Kind
  state: 'open' | 'voted' | 'void'
  title: string
  created_at: string
  winner: Winner | null
  models: Names | null
}

export interface ConversationPage {
  conversations: ConversationSummary[]
  next: string | null
}

export interface VoteResult {
  receipt: string
  winner: Winner
  models: Names
}

export interface Contestant {
  name: string
  state: string
  kind: string
}

export interface Status {
  name: string
  ready: boolean
  contestants: { ready: number; loading: number; failed: number; paused: number }
  notices: string[]
  limits: { prompt_chars: number; turns: number }
}

/** `code` is stable, `text` a sentence in English. */
export interface BoardNote {
  code: string
  text: string
}

export interface BoardRow {
  model: string
  rating: number | null
  low: number | null
  high: number | null
  rank: number | null
  battles: number
  win_rate: number | null
  wins: number
  losses: number
  ties: number
  both_bad: number
  elo: number | null
  ttft_median_ms: number | null
  notes: BoardNote[]
}

export interface Board {
  name: string
  votes: number
  updated_at: string | null
  min_battles: number
  rows: BoardRow[]
}

/** What GET …/events sends, each with its event name as `event`. */
export type ArenaEvent =
  | { event: 'packet'; turn: number; side: Side; text: string; offset: number }
  | { event: 'done'; turn: number; side: Side; finish_reason: string }
  | { event: 'failed'; turn: number; side: Side; message: string }
  | { event: 'void'; reason: string }

/** The values that go between the page and the gateway, named as the page speaks of them. */
import type { components } from './openapi'

type Schemas = components['schemas']

export type Side = Schemas['Side']
export type Kind = Schemas['Kind']
export type Winner = Schemas['Winner']

export type Conversation = Schemas['ConversationOut']
export type ConversationState = Conversation['state']
export type Names = NonNullable<Conversation['models']>
export type Answer = Schemas['AnswerOut']
export type AnswerState = Answer['state']

export type ConversationPage = Schemas['HistoryOut']
export type ConversationSummary = Schemas['SummaryOut']
export type VoteResult = Schemas['VoteOut']

export type Status = Schemas['StatusOut']
export type Notice = Status['notices'][number]
export type Contestants = Schemas['ModelsOut']
export type Contestant = Schemas['ModelOut']

export type Board = Schemas['BoardOut']
export type BoardRow = Schemas['BoardRowOut']
export type BoardNote = Schemas['NoteOut']
export type StyleWeight = Schemas['StyleWeightOut']
export type Matrix = Schemas['MatrixOut']
export type RatingHistory = Schemas['RatingHistoryOut']
export type Window = Schemas['Window']
export type Category = Schemas['Category']

export type PromptBody = Schemas['PromptBody']
export type SideBySideBody = Schemas['SideBySideBody']
export type ChatBody = Schemas['ChatBody']
export type VoteBody = Schemas['VoteBody']
export type RegenerateBody = Schemas['RegenerateBody']

/** What GET …/events sends, each with its event name as `event`. The OpenAPI document has no place for these. */
export type ArenaEvent =
  | { event: 'packet'; turn: number; side: Side; text: string; offset: number }
  | { event: 'done'; turn: number; side: Side; finish_reason: string }
  | { event: 'failed' | 'forfeited' | 'waiting'; turn: number; side: Side; message: string }
  | { event: 'void'; reason: string }

/** A row with a rating and its limits, of whatever board. */
export type RatedRow = Pick<BoardRow, 'model' | 'rating' | 'low' | 'high'>

export interface Figure { value: number | null; low: number | null; high: number | null }
export interface RoundRow { contestant: string; rank: number | null; paired_rank: number | null; score: Figure; scored: number; wins: number; ties: number; losses: number; win_rate: Figure; rating: Figure; rating_rank: number | null; notes: BoardNote[] }
export interface AnswerCounts { missing: number; pending: number; answered: number; scored: number; abstained: number; failed: number; parked: number }
export interface RoundCategory { category: string; questions: number; sparse: boolean }
export interface RoundBoard { round: string; scorer: string; category: string | null; questions: number; scored_questions: number; merged: number; made_at: string | null; rows: RoundRow[]; answers: Record<string, AnswerCounts>; categories: RoundCategory[]; notes: BoardNote[] }
export interface Rivals { round: string; merged: number; contestants: string[]; questions: number[][]; wins: number[][]; ties: number[][]; win_rate: (number | null)[][]; low: (number | null)[][]; high: (number | null)[][]; gap: (number | null)[][]; gap_low: (number | null)[][]; gap_high: (number | null)[][] }
export type ContestantStages = Omit<AnswerCounts, 'missing'> & { contestant: string }
export interface RoundProgress { contestants: ContestantStages[]; trouble: number; done: boolean }
export interface RoundSummary { id: string; name: string; scorer: string; questions: number; contestants: { name: string; made_here: boolean }[]; created_at: string | null; anchor: string | null }
export interface Round extends RoundSummary { progress: RoundProgress }
export interface Rounds { rounds: RoundSummary[]; next: string | null }
export interface RoundQuestion { id: string; category: string; language: string; turns: string[] }
export interface RoundQuestions { questions: RoundQuestion[]; next: number | null }
export interface RoundAnswer { id: string; question: string; contestant: string; stage: 'pending' | 'answered' | 'scored' | 'abstained' | 'failed' | 'parked'; texts: string[]; score: number | null; error: string | null; detail: Record<string, unknown> | null }
export interface RoundAnswers { question: string; answers: RoundAnswer[] }
export interface Trouble { answers: RoundAnswer[] }
export interface Judging { x?: number }
export interface Scorers { x?: number }

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

export type Figure = Schemas['FigureOut']
export type RoundRow = Schemas['RoundRowOut']
export type AnswerCounts = Schemas['AnswerCountsOut']
export type RoundCategory = Schemas['RoundCategoryOut']
export type RoundBoard = Schemas['RoundBoardOut']
export type Rivals = Schemas['RivalsOut']
export type ContestantStages = Schemas['ContestantProgressOut']
export type Round = Schemas['RoundDetailOut']
export type RoundSummary = Schemas['RoundOut']
export type Rounds = Schemas['RoundsOut']
export type RoundQuestion = Schemas['QuestionOut']
export type RoundQuestions = Schemas['QuestionsOut']
export type RoundAnswer = Schemas['RoundAnswerOut']
export type RoundAnswers = Schemas['RoundAnswersOut']
export type Trouble = Schemas['TroubleOut']
export type EngineChecks = Schemas['EngineChecksOut']
export type EngineCheck = Schemas['EngineCheckOut']
export type Share = Schemas['ShareOut']
export type Agreement = Schemas['AgreementOut']
export type Scorer = Schemas['ScorerOut']
export type Scorers = Schemas['ScorersOut']
export type Judging = Schemas['JudgeOut']

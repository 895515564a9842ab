/** How a round is looked at: what its address says, and where things stand on the page. Pure. */
import type { AnswerCounts, BoardNote, RoundRow } from './types'

export const ROUND_TABS = ['board', 'rivals', 'answers', 'trouble', 'scorer'] as const
export type RoundTab = (typeof ROUND_TABS)[number]

export interface RoundLook {
  tab: RoundTab
  /** null for every question. */
  category: string | null
  /** The question whose answers stand side by side; null for the first. */
  question: string | null
  /** Whose answers; empty for the two best. */
  models: string[]
}

/** What an address says; what it says wrongly counts as not said. */
export function parseLook(query: string): RoundLook {
  const said = new URLSearchParams(query)
  return {
    tab: ROUND_TABS.find((each) => each === said.get('tab')) ?? 'board',
    category: said.get('category'),
    question: said.get('question'),
    models: said.getAll('model'),
  }
}

export function lookQuery({ tab, category, question, models }: RoundLook): string {
  const query = new URLSearchParams()
  if (tab !== 'board') query.set('tab', tab)
  if (category !== null) query.set('category', category)
  if (question !== null) query.set('question', question)
  for (const model of models) query.append('model', model)
  return query.toString()
}

/** In the order in which an answer goes through them. */
export const STAGES = ['scored', 'abstained', 'answered', 'pending', 'missing', 'parked', 'failed'] as const
export type Stage = (typeof STAGES)[number]

export interface Share {
  stage: Stage
  count: number
  share: number
}

export function sharesOf(counts: AnswerCounts): Share[] {
  const all = STAGES.reduce((sum, stage) => sum + counts[stage], 0)
  return STAGES.filter((stage) => counts[stage] > 0).map((stage) => ({ stage, count: counts[stage], share: counts[stage] / all }))
}

/** Whether something is still going to happen by itself. Answers that others have to send may never come. */
export function isRunning(counts: readonly AnswerCounts[]): boolean {
  return counts.some(({ pending, answered }) => pending + answered > 0)
}

/** How many answers of the round are settled, and how many there are to be. */
export function settledOf(counts: readonly AnswerCounts[]): { done: number; all: number } {
  const sum = (stages: readonly Stage[]): number =>
    counts.reduce((total, each) => total + stages.reduce((part, stage) => part + each[stage], 0), 0)
  return { done: sum(['scored', 'abstained', 'failed', 'parked']), all: sum(STAGES) }
}

/** The ends of an axis that holds every score's interval, with some air; null where there is no score. */
export function scoreReach(rows: readonly RoundRow[]): [number, number] | null {
  const known = rows.flatMap(({ score }) => [score.low, score.value, score.high].filter((value) => value !== null))
  if (known.length === 0) return null
  const [least, most] = [Math.min(...known), Math.max(...known)]
  const air = (most - least) * 0.04 || 1
  return [least - air, most + air]
}

/** Where a value stands on an axis, in percent of its length. */
export function placeOn([least, most]: [number, number], value: number): number {
  return (100 * (value - least)) / (most - least)
}

/** Digits behind the point that tell such scores apart. */
export function digitsFor(ends: [number, number] | null): number {
  if (ends === null) return 2
  const width = ends[1] - ends[0]
  return width >= 100 ? 0 : width >= 10 ? 1 : width >= 1 ? 2 : 3
}

/** Whose answers stand side by side: those asked for, or the two best. */
export function comparedOf(asked: readonly string[], ranked: readonly string[]): string[] {
  const known = ranked.filter((name) => asked.includes(name))
  return known.length > 0 ? known : ranked.slice(0, 2)
}

/** The same with one more or one less, but never none. */
export function toggled(compared: readonly string[], name: string): string[] {
  const rest = compared.filter((each) => each !== name)
  if (rest.length === compared.length) return [...compared, name]
  return rest.length > 0 ? rest : [...compared]
}

export const KNOWN_ROUND_NOTES = [
  'no_scores',
  'fewer_answers',
  'few_questions',
  'equal_scores',
  'unbounded_above',
  'unbounded_below',
  'not_comparable',
] as const
export type KnownRoundNote = (typeof KNOWN_ROUND_NOTES)[number]

export function knownRoundNote({ code }: BoardNote): KnownRoundNote | null {
  return KNOWN_ROUND_NOTES.find((each) => each === code) ?? null
}

export const KNOWN_ROUND_REMARKS = ['few_questions', 'questions_differ', 'no_rating'] as const
export type KnownRoundRemark = (typeof KNOWN_ROUND_REMARKS)[number]

export function knownRoundRemark({ code }: BoardNote): KnownRoundRemark | null {
  return KNOWN_ROUND_REMARKS.find((each) => each === code) ?? null
}

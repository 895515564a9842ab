/** Order and change of a board's rows. Pure. */
import type { BoardRow, RatedRow } from './types'

export type Column = 'rank' | 'model' | 'rating' | 'battles' | 'win_rate' | 'forfeits' | 'ttft_median_ms'
export interface Sorting {
  column: Column
  descending: boolean
}

/** Better first is what a first click on a column should show. */
export const FIRST_ORDER: Record<Column, boolean> = {
  rank: false,
  model: false,
  rating: true,
  battles: true,
  win_rate: true,
  forfeits: false,
  ttft_median_ms: false,
}

/** Rows in the order asked for; those without a value stand last in either direction. */
export function sortRows(rows: readonly BoardRow[], { column, descending }: Sorting): BoardRow[] {
  const sign = descending ? -1 : 1
  return [...rows].sort((x, y) => {
    const a = x[column]
    const b = y[column]
    if (a === null || b === null) return a === b ? byRating(x, y) : a === null ? 1 : -1
    const order = typeof a === 'string' ? a.localeCompare(String(b)) : a - Number(b)
    return order === 0 ? byRating(x, y) : sign * order
  })
}

function byRating(x: BoardRow, y: BoardRow): number {
  return (y.rating ?? -Infinity) - (x.rating ?? -Infinity) || x.model.localeCompare(y.model)
}

/** Rows that have at least a limit, from the top: where the votes leave a side open, the known limit stands for it. */
export function byHeight<Row extends RatedRow>(rows: readonly Row[]): Row[] {
  const height = (row: Row): number => row.rating ?? row.low ?? row.high ?? -Infinity
  return rows.filter((row) => height(row) > -Infinity).sort((x, y) => height(y) - height(x))
}

/** The ends of an axis that holds every limit, with some air. */
export function reach(rows: readonly RatedRow[]): [number, number] {
  const known = rows.flatMap((row) => [row.low, row.rating, row.high].filter((value) => value !== null))
  const [least, most] = [Math.min(...known), Math.max(...known)]
  const air = Math.max(10, (most - least) * 0.04)
  return [least - air, most + air]
}

export function movedModels(before: readonly BoardRow[], after: readonly BoardRow[]): ReadonlySet<string> {
  const old = new Map(before.map((row) => [row.model, row]))
  const changed = after.filter((row) => {
    const was = old.get(row.model)
    return was === undefined || was.rank !== row.rank || shown(was.rating) !== shown(row.rating)
  })
  return new Set(changed.map((row) => row.model))
}

/** A change below what the table prints is not a change that anyone could see. */
function shown(rating: number | null): number | null {
  return rating === null ? null : Math.round(rating)
}

export const KNOWN_NOTES = ['few_battles', 'unbounded_above', 'unbounded_below', 'not_comparable', 'no_battles'] as const
export type KnownNote = (typeof KNOWN_NOTES)[number]

export function knownNote(code: string): KnownNote | null {
  return KNOWN_NOTES.find((each) => each === code) ?? null
}

/** Notes on the board as a whole. */
export const KNOWN_BOARD_NOTES = [
  'texts_unread',
  'sparse_category',
  'no_ranking',
  'collinear_style',
  'style_not_finite',
] as const
export type KnownBoardNote = (typeof KNOWN_BOARD_NOTES)[number]

export function knownBoardNote(code: string): KnownBoardNote | null {
  return KNOWN_BOARD_NOTES.find((each) => each === code) ?? null
}

export const FEATURES = ['tokens', 'headers', 'lists', 'bold'] as const
export type Feature = (typeof FEATURES)[number]

export function knownFeature(name: string): Feature | null {
  return FEATURES.find((each) => each === name) ?? null
}

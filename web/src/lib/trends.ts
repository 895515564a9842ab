/** Points of a rating history, and which models it shows. Pure. */
import type { RatingHistory } from './types'

export interface Point {
  model: string
  day: Date
  rating: number | null
  low: number | null
  high: number | null
  votes: number
}

export const SHOWN_AT_FIRST = 6

/** Ten hues that stay apart in the light and in the dark; more models share them. */
export const COLOURS = [
  'light-dark(#ad431a, #f0926a)',
  'light-dark(#1d5ca8, #82b6f5)',
  'light-dark(#22703a, #7fcf96)',
  'light-dark(#7b3fa0, #c79bea)',
  'light-dark(#8a6500, #e0bd5e)',
  'light-dark(#0f6f78, #6fcdd6)',
  'light-dark(#b02a63, #f291ba)',
  'light-dark(#4d5560, #aab4c2)',
  'light-dark(#5f6b12, #bccb62)',
  'light-dark(#40409f, #a5a5f5)',
] as const

export function pointsOf(history: RatingHistory, models: ReadonlySet<string>): Point[] {
  const days = history.days.map((day) => new Date(`${day}T00:00:00Z`))
  return history.series
    .filter((series) => models.has(series.model))
    .flatMap(({ model, ratings, low, high }) =>
      days.map((day, at) => ({
        model,
        day,
        rating: ratings[at] ?? null,
        low: low[at] ?? null,
        high: high[at] ?? null,
        votes: history.votes[at] ?? 0,
      })),
    )
}

/** Each model keeps its colour, whichever others are shown. */
export function coloursOf(history: RatingHistory): Map<string, string> {
  return new Map(history.series.map(({ model }, place) => [model, COLOURS[place % COLOURS.length]!]))
}

export function firstShown(history: RatingHistory): string[] {
  const rated = history.series.filter((series) => series.ratings.some((rating) => rating !== null))
  return rated.slice(0, SHOWN_AT_FIRST).map((series) => series.model)
}

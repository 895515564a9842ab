/** How a matrix of win rates is shown. Pure. */

/** Models of a large matrix that are shown until all are asked for. */
export const CELLS_AT_FIRST = 20

const STRONGEST = 45

/** The colour of a cell: one side's for winning, the other's for losing, none at a half; pale enough to read on. */
export function shade(rate: number | null): string | undefined {
  if (rate === null) return undefined
  const share = Math.round(Math.min(1, Math.abs(rate - 0.5) * 2) * STRONGEST)
  return `color-mix(in oklab, var(${rate >= 0.5 ? '--side-b' : '--side-a'}) ${share}%, var(--surface))`
}

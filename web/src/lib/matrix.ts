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

export interface Cell {
  row: number
  column: number
}

/** Where a key leads from a cell; the diagonal is leapt over, and null is nowhere. */
export function moveIn(size: number, { row, column }: Cell, key: string): Cell | null {
  const steps: Partial<Record<string, [number, number]>> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }
  const step = steps[key]
  if (step === undefined) return null
  const inside = (at: Cell): boolean => Math.min(at.row, at.column) >= 0 && Math.max(at.row, at.column) < size
  for (let times = 1; times <= 2; times += 1) {
    const at = { row: row + times * step[0], column: column + times * step[1] }
    if (!inside(at)) return null
    if (at.row !== at.column) return at
  }
  return null
}

/** What the charts share. Observable Plot is large, so it comes when the first chart is drawn. */

export type Plot = typeof import('@observablehq/plot')
export const NARROW_PX = 560

export const STYLE = {
  background: 'transparent',
  color: 'var(--ink)',
  fontFamily: 'inherit',
  fontSize: '13px',
  overflow: 'visible',
} as const

let plot: Promise<Plot> | undefined

export function loadPlot(): Promise<Plot> {
  plot ??= import('@observablehq/plot').catch((reason: unknown) => {
    // The next chart may try again.
    plot = undefined
    throw reason
  })
  return plot
}

/** One picture with one description: its parts' own labels would be read out without their sense. */
export function describeWhole(chart: Element): Element {
  chart.setAttribute('role', 'img')
  for (const part of chart.querySelectorAll('[aria-label]')) {
    part.setAttribute('data-part', part.getAttribute('aria-label') ?? '')
    part.removeAttribute('aria-label')
  }
  return chart
}

/** A name cut in its middle: models of one family differ at their ends. */
export function shorten(name: string, length: number): string {
  if (name.length <= length) return name
  const kept = Math.max(2, length - 1)
  const end = Math.floor(kept / 2)
  return `${name.slice(0, kept - end)}…${name.slice(-end)}`
}

/** Which votes a leaderboard counts, as the address and the API write it. Pure. */
import type { Category, Window } from './types'

export interface View {
  window: Window
  /** null for every vote. */
  category: Category | null
  style: boolean
}

export const WINDOWS = ['all', '30d', '7d'] as const satisfies readonly Window[]
export const CATEGORIES = [
  'chinese',
  'japanese',
  'korean',
  'latin',
  'cyrillic',
  'arabic',
  'devanagari',
  'other_script',
  'code',
  'short',
  'long',
  'multi_turn',
] as const satisfies readonly Category[]
export const TABS = ['intervals', 'matrix', 'history'] as const
export type Tab = (typeof TABS)[number]

/** What an address says; what it says wrongly counts as not said. */
export function parseView(query: string): { view: View; tab: Tab } {
  const said = new URLSearchParams(query)
  return {
    view: {
      window: WINDOWS.find((each) => each === said.get('window')) ?? 'all',
      category: CATEGORIES.find((each) => each === said.get('category')) ?? null,
      style: said.get('style') === 'true',
    },
    tab: TABS.find((each) => each === said.get('tab')) ?? 'intervals',
  }
}

/** The parameters that differ from the plain board, in a fixed order; empty for the plain one. */
export function viewQuery({ window, category, style }: View): string {
  const query = new URLSearchParams()
  if (window !== 'all') query.set('window', window)
  if (category !== null) query.set('category', category)
  if (style) query.set('style', 'true')
  return query.toString()
}

export function addressQuery(view: View, tab: Tab): string {
  const query = new URLSearchParams(viewQuery(view))
  if (tab !== 'intervals') query.set('tab', tab)
  return query.toString()
}

export function withQuery(path: string, query: string): string {
  return query === '' ? path : `${path}?${query}`
}

/** Hash routes: `#/battle/ID`, `#/leaderboard?window=7d`. The hash is the only state that a reload needs. */

import { withQuery } from './view'

export const SCREENS = ['battle', 'side-by-side', 'chat', 'leaderboard', 'rounds', 'history'] as const
export type Screen = (typeof SCREENS)[number]

export interface Route {
  screen: Screen
  id: string | null
}

export function parseRoute(hash: string): Route {
  const [name = '', id = ''] = hash.replace(/\?.*$/, '').replace(/^#?\/?/, '').split('/')
  const screen = SCREENS.find((each) => each === name) ?? 'battle'
  return { screen, id: screen === name && id !== '' ? decode(id) : null }
}

/** What the hash says behind its question mark. */
export function parseQuery(hash: string): string {
  return hash.includes('?') ? hash.slice(hash.indexOf('?') + 1) : ''
}

export function link(screen: Screen, id: string | null = null): string {
  return id === null ? `#/${screen}` : `#/${screen}/${encodeURIComponent(id)}`
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

class Router {
  route = $state.raw<Route>(parseRoute(location.hash))
  query = $state(parseQuery(location.hash))

  constructor() {
    addEventListener('hashchange', () => {
      this.route = parseRoute(location.hash)
      this.query = parseQuery(location.hash)
    })
  }

  /** Another look at the same screen: the address says it, and going back leaves the screen and not the look. */
  look(query: string): void {
    const { screen, id } = this.route
    history.replaceState(history.state, '', withQuery(link(screen, id), query))
    this.query = query
  }

  go(screen: Screen, id: string | null = null): void {
    location.hash = link(screen, id)
  }
}

export const router = new Router()

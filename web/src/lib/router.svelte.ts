/** Hash routes: `#/battle/ID`. The hash is the only state that a reload needs. */

export const SCREENS = ['battle', 'side-by-side', 'chat', 'leaderboard', 'history'] as const
export type Screen = (typeof SCREENS)[number]

export interface Route {
  screen: Screen
  id: string | null
}

export function parseRoute(hash: string): Route {
  const [name = '', id = ''] = hash.replace(/^#?\/?/, '').split('/')
  const screen = SCREENS.find((each) => each === name) ?? 'battle'
  return { screen, id: screen === name && id !== '' ? decode(id) : null }
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

  constructor() {
    addEventListener('hashchange', () => {
      this.route = parseRoute(location.hash)
    })
  }

  go(screen: Screen, id: string | null = null): void {
    location.hash = link(screen, id)
  }
}

export const router = new Router()

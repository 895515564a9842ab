import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { boardPath } from '../src/lib/api'
import { shorten } from '../src/lib/chart'
import { Companion } from '../src/lib/companion.svelte'
import { shade } from '../src/lib/matrix'
import { parseQuery, parseRoute } from '../src/lib/router.svelte'
import { byHeight, knownBoardNote, knownFeature, reach } from '../src/lib/standings'
import { coloursOf, firstShown, pointsOf, SHOWN_AT_FIRST } from '../src/lib/trends'
import type { BoardRow, RatingHistory } from '../src/lib/types'
import { addressQuery, CATEGORIES, parseView, TABS, viewQuery, WINDOWS, type View } from '../src/lib/view'

const PLAIN: View = { window: 'all', category: null, style: false }

describe('views', () => {
  it('come back from every address', () => {
    for (const window of WINDOWS)
      for (const category of [null, ...CATEGORIES])
        for (const style of [false, true])
          for (const tab of TABS) {
            const view: View = { window, category, style }
            expect(parseView(addressQuery(view, tab))).toEqual({ view, tab })
          }
  })

  it.each(['', 'window=9d&category=cooking&style=maybe&tab=map', 'window=&category=&style=false'])('of %j are plain', (query) => {
    expect(parseView(query)).toEqual({ view: PLAIN, tab: 'intervals' })
  })

  it('ask the gateway for what differs from the plain board', () => {
    expect(boardPath('main', viewQuery(PLAIN))).toBe('/arena/boards/main')
    const query = viewQuery({ window: '7d', category: 'code', style: true })
    expect(boardPath('main', query, '/events')).toBe('/arena/boards/main/events?window=7d&category=code&style=true')
  })

  it('leave the screen in the address alone', () => {
    expect(parseRoute('#/leaderboard?tab=matrix')).toEqual({ screen: 'leaderboard', id: null })
    expect(parseRoute('#/leaderboard/a%2Fb?window=7d')).toEqual({ screen: 'leaderboard', id: 'a/b' })
    expect(parseQuery('#/leaderboard/a%2Fb?window=7d')).toBe('window=7d')
    expect(parseQuery('#/leaderboard')).toBe('')
  })
})

const row = (model: string, rating: number | null, low: number | null, high: number | null): BoardRow => ({
  model,
  rating,
  low,
  high,
  rank: rating === null ? null : 1,
  battles: 10,
  win_rate: 0.5,
  wins: 4,
  losses: 4,
  ties: 1,
  both_bad: 1,
  elo: null,
  ttft_median_ms: null,
  forfeits: 0,
  notes: [],
})

describe('the plot of ratings', () => {
  const rows = [row('low', 900, 850, 950), row('open', null, 1200, null), row('none', null, null, null), row('sunk', null, null, 700)]

  it('has the models with a limit, from the top', () => {
    expect(byHeight(rows).map((each) => each.model)).toEqual(['open', 'low', 'sunk'])
  })

  it('reaches a little beyond every limit', () => {
    const [least, most] = reach(rows)
    expect(least).toBeLessThan(700)
    expect(most).toBeGreaterThan(1200)
    expect(reach([row('one', 1000, 1000, 1000)])).toEqual([990, 1010])
  })
})

const history = (models: number): RatingHistory => ({
  name: 'main',
  view: { window: 'all', category: null, style: false },
  updated_at: null,
  days: ['2026-01-30', '2026-01-31'],
  votes: [3, 5],
  series: Array.from({ length: models }, (_, place) => ({
    model: `m${place}`,
    ratings: place === 0 ? [null, null] : [null, 1000 + place],
    low: [null, 990],
    high: [null, 1010],
  })),
})

describe('the history', () => {
  it('shows the first that have a rating', () => {
    expect(firstShown(history(10))).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6'].slice(0, SHOWN_AT_FIRST))
  })

  it('has a point a day, in UTC, with the gaps left open', () => {
    const points = pointsOf(history(3), new Set(['m2']))
    expect(points.map((point) => [point.model, point.day.toISOString().slice(0, 10), point.rating, point.votes])).toEqual([
      ['m2', '2026-01-30', null, 3],
      ['m2', '2026-01-31', 1002, 5],
    ])
  })

  it('keeps the colour of a model', () => {
    const colours = coloursOf(history(30))
    expect(colours.size).toBe(30)
    expect(new Set(colours.values()).size).toBe(10)
    expect(colours.get('m1')).toBe(coloursOf(history(3)).get('m1'))
  })
})

describe('cells', () => {
  it('are of the colour of who wins, the more the stronger', () => {
    expect(shade(null)).toBeUndefined()
    expect(shade(0.5)).toContain(' 0%')
    expect(shade(1)).toContain('--side-b) 45%')
    expect(shade(0)).toContain('--side-a) 45%')
  })
})

describe('notes and features', () => {
  it('are known or not', () => {
    expect(knownBoardNote('sparse_category')).toBe('sparse_category')
    expect(knownBoardNote('from_tomorrow')).toBeNull()
    expect(knownFeature('tokens')).toBe('tokens')
    expect(knownFeature('emoji')).toBeNull()
  })
})

describe('a companion of the board', () => {
  let asked: string[]
  let answer: () => Response

  beforeEach(() => {
    vi.useFakeTimers()
    asked = []
    answer = () => Response.json({ number: asked.length })
    vi.stubGlobal('fetch', (url: string) => {
      asked.push(new URL(url).pathname)
      return Promise.resolve(answer())
    })
  })

  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })

  const settled = async (ms = 0): Promise<void> => {
    await vi.advanceTimersByTimeAsync(ms)
  }

  it('is asked for at once, and again only a while after changes', async () => {
    const companion = new Companion<{ number: number }>()
    companion.show('/a')
    await settled()
    expect(companion.value).toEqual({ number: 1 })
    for (let change = 0; change < 5; change += 1) companion.show('/a')
    await settled(100)
    expect(asked).toEqual(['/a'])
    await settled(3_000)
    expect(asked).toEqual(['/a', '/a'])
    expect(companion.value).toEqual({ number: 2 })
    companion.dispose()
  })

  it('forgets the answer to a question that was given up', async () => {
    const companion = new Companion<{ number: number }>()
    companion.show('/a')
    companion.show('/b')
    expect(companion.value).toBeNull()
    await settled()
    expect(asked).toEqual(['/a', '/b'])
    expect(companion.value).toEqual({ number: 2 })
    companion.dispose()
  })

  it('keeps what it had when it cannot be asked', async () => {
    const companion = new Companion<{ number: number }>()
    companion.show('/a')
    await settled()
    answer = () => new Response('', { status: 503 })
    await companion.refresh()
    expect(companion.value).toEqual({ number: 1 })
    expect(companion.failure).toMatchObject({ status: 503, transient: true })
    companion.dispose()
    companion.show('/b')
    companion.dispose()
  })
})

describe('names beside a plot', () => {
  it('keep their ends, by which models of one family differ', () => {
    const names = ['smollm2-135m-instruct', 'smollm2-135m-instruct-q8_0'].map((name) => shorten(name, 15))
    expect(new Set(names).size).toBe(2)
    expect(names[1]).toBe('smollm2…ct-q8_0')
    expect(shorten('short', 15)).toBe('short')
  })
})

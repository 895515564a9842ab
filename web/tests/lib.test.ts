import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { continueConversation, startConversation } from '../src/lib/api'
import { editDraft, readDraft, renewDraft } from '../src/lib/drafts'
import { ApiError, call, parseRetryAfter } from '../src/lib/http'
import { uuid } from '../src/lib/ids'
import { link, parseRoute } from '../src/lib/router.svelte'
import { FIRST_ORDER, knownNote, movedModels, sortRows } from '../src/lib/standings'
import type { BoardRow } from '../src/lib/types'

afterEach(() => {
  vi.unstubAllGlobals()
  localStorage.clear()
})

/** A gateway that answers with what it is told and remembers what it was asked. */
function answerWith(response: () => Response): Request[] {
  const asked: Request[] = []
  vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
    asked.push(new Request(url, init))
    return Promise.resolve(response())
  })
  return asked
}

describe('calls', () => {
  it('carry the prompt and its key', async () => {
    const asked = answerWith(() => Response.json({ id: 'c' }, { status: 201 }))
    await startConversation({ kind: 'battle' }, 'why?', 'k1')
    expect(new URL(asked[0]!.url).pathname).toBe('/arena/battles')
    expect(asked[0]!.headers.get('Idempotency-Key')).toBe('k1')
    expect(await asked[0]!.json()).toEqual({ prompt: 'why?' })
  })

  it('start and go on with a chat without waiting for its answer', async () => {
    const asked = answerWith(() => Response.json({ id: 'c' }, { status: 202 }))
    await startConversation({ kind: 'chat', model: 'm' }, 'hi', 'k')
    await continueConversation({ id: 'c', kind: 'chat' }, 'more', 'k2')
    expect(asked.map((request) => request.headers.get('Prefer'))).toEqual(['respond-async', 'respond-async'])
    expect(await asked[1]!.json()).toEqual({ prompt: 'more', session_id: 'c' })
  })

  it('turn a refusal into one error with the time to wait', async () => {
    const body = { error: { code: 'rate_limited', message: 'Too many.', field: null } }
    answerWith(() => Response.json(body, { status: 429, headers: { 'Retry-After': '7' } }))
    const error = await call('/arena/status').catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 429, code: 'rate_limited', message: 'Too many.', retryAfter: 7, transient: true })
  })

  it('turn an answer that is no JSON, and none at all, into errors too', async () => {
    answerWith(() => new Response('<html>', { status: 502 }))
    await expect(call('/x')).rejects.toMatchObject({ status: 502, code: 'unreadable', transient: true })
    answerWith(() => new Response('<html>', { status: 200 }))
    await expect(call('/x')).rejects.toMatchObject({ code: 'unreadable', transient: false })
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('offline')))
    await expect(call('/x')).rejects.toMatchObject({ status: 0, code: 'unreachable', transient: true })
  })

  it.each([
    ['12', 12],
    ['0.2', 1],
    ['-3', 0],
    ['Sat, 31 Jan 2026 12:00:30 GMT', 30],
    ['soon', null],
    ['', null],
    [null, null],
  ])('read Retry-After %s as %s', (value, expected) => {
    expect(parseRetryAfter(value, Date.parse('2026-01-31T12:00:00Z'))).toBe(expected)
  })
})

describe('drafts', () => {
  it('outlive a reload with their key', () => {
    const draft = editDraft('battle', readDraft('battle'), 'two\nlines')
    expect(readDraft('battle')).toEqual(draft)
    expect(readDraft('chat').text).toBe('')
  })

  it('get a new key with a new text only', () => {
    const first = editDraft('battle', readDraft('battle'), 'one')
    expect(editDraft('battle', first, 'one').key).toBe(first.key)
    expect(editDraft('battle', first, 'other').key).not.toBe(first.key)
  })

  it('get a new key after a refusal', () => {
    const first = editDraft('battle', readDraft('battle'), 'one')
    const again = renewDraft('battle', first)
    expect(again.text).toBe('one')
    expect(again.key).not.toBe(first.key)
    expect(readDraft('battle')).toEqual(again)
  })

  it('are forgotten when sent', () => {
    editDraft('battle', editDraft('battle', readDraft('battle'), 'one'), '')
    expect(localStorage.length).toBe(0)
  })
})

describe('addresses', () => {
  it.each([
    ['', 'battle', null],
    ['#/', 'battle', null],
    ['#/battle/0198', 'battle', '0198'],
    ['#/side-by-side', 'side-by-side', null],
    ['#/leaderboard/a%2Fb', 'leaderboard', 'a/b'],
    ['#/nowhere/5', 'battle', null],
    ['#/chat/%E0%A4%A', 'chat', '%E0%A4%A'],
  ])('%s is %s %s', (hash, screen, id) => {
    expect(parseRoute(hash)).toEqual({ screen, id })
  })

  it('come back from links', () => {
    expect(parseRoute(link('leaderboard', 'org/model 1'))).toEqual({ screen: 'leaderboard', id: 'org/model 1' })
  })
})

const row = (model: string, change: Partial<BoardRow> = {}): BoardRow => ({
  model,
  rating: 1000,
  low: 990,
  high: 1010,
  rank: 1,
  battles: 10,
  win_rate: 0.5,
  wins: 4,
  losses: 4,
  ties: 1,
  both_bad: 1,
  elo: 1000,
  ttft_median_ms: 100,
  forfeits: 0,
  notes: [],
  ...change,
})

describe('standings', () => {
  const rows = [row('c', { rating: null, rank: null }), row('b', { rating: 900, rank: 2 }), row('a', { rating: 1100 })]

  it('sort either way with the unrated last', () => {
    const order = (descending: boolean): string[] => sortRows(rows, { column: 'rating', descending }).map((each) => each.model)
    expect(order(true)).toEqual(['a', 'b', 'c'])
    expect(order(false)).toEqual(['b', 'a', 'c'])
  })

  it('fall back to the rating among equals', () => {
    const equal = [row('x', { rating: 1 }), row('y', { rating: 2 })]
    expect(sortRows(equal, { column: 'battles', descending: false }).map((each) => each.model)).toEqual(['y', 'x'])
  })

  it('put those that forfeit least first', () => {
    const late = [row('x', { forfeits: 3 }), row('y'), row('z', { forfeits: 1 })]
    const order = sortRows(late, { column: 'forfeits', descending: FIRST_ORDER.forfeits }).map((each) => each.model)
    expect(order).toEqual(['y', 'z', 'x'])
  })

  it('say who moved, and not who moved unseen', () => {
    const after = [row('a', { rating: 1100.2 }), row('b', { rating: 950, rank: 2 }), row('c', { rating: null, rank: 3 }), row('d')]
    expect([...movedModels(rows, after)].sort()).toEqual(['b', 'c', 'd'])
  })

  it('know their notes', () => {
    expect(knownNote('few_battles')).toBe('few_battles')
    expect(knownNote('something else')).toBeNull()
  })
})

describe('the rest', () => {
  it('makes UUIDs of version 4 that differ', () => {
    expect(uuid()).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    expect(uuid()).not.toBe(uuid())
  })

  it('keeps addresses out of the lock file', () => {
    expect(readFileSync('package-lock.json', 'utf8')).not.toContain('://')
  })
})

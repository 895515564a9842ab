import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Stream, waitBefore, type Link, type Source } from '../src/conversation/stream'

class ScriptedSource implements Source {
  onopen: (() => void) | null = null
  onerror: (() => void) | null = null
  closed = false
  readonly #listeners = new Map<string, (event: { data: string; lastEventId: string }) => void>()

  constructor(readonly after: string | null) {}

  addEventListener(name: string, listener: (event: { data: string; lastEventId: string }) => void): void {
    this.#listeners.set(name, listener)
  }

  close(): void {
    this.closed = true
  }

  send(data: string, lastEventId: string): void {
    this.#listeners.get('packet')?.({ data, lastEventId })
  }
}

function setUp(onlost?: (attempt: number) => Promise<boolean>) {
  const sources: ScriptedSource[] = []
  const seen: string[] = []
  const links: Link[] = []
  const stream = new Stream({
    names: ['packet'],
    onevent: (_, data) => seen.push(data),
    onlink: (link) => links.push(link),
    open: (after) => {
      const source = new ScriptedSource(after)
      sources.push(source)
      return source
    },
    ...(onlost ? { onlost } : {}),
  })
  return { stream, sources, seen, links }
}

beforeEach(() => { vi.useFakeTimers() })
afterEach(() => { vi.useRealTimers() })

describe('a stream', () => {
  it('goes on after the last event it saw', async () => {
    const { stream, sources, seen, links } = setUp()
    stream.start()
    sources[0]!.onopen?.()
    sources[0]!.send('one', '7-0')
    sources[0]!.onerror?.()
    await vi.advanceTimersByTimeAsync(waitBefore(1))
    expect(sources.map((source) => source.after)).toEqual([null, '7-0'])
    expect(sources[0]!.closed).toBe(true)
    sources[1]!.onopen?.()
    sources[1]!.send('two', '8-0')
    expect(seen).toEqual(['one', 'two'])
    expect(links).toEqual(['connecting', 'live', 'lost', 'lost', 'live'])
  })

  it('takes nothing more from a connection it has left', async () => {
    const { stream, sources, seen } = setUp()
    stream.start()
    sources[0]!.onerror?.()
    await vi.advanceTimersByTimeAsync(waitBefore(1))
    sources[0]!.send('late', '9')
    expect(seen).toEqual([])
    expect(stream.lastId).toBeNull()
  })

  it('never connects again once closed', async () => {
    const { stream, sources } = setUp()
    stream.start()
    sources[0]!.onerror?.()
    stream.close()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sources).toHaveLength(1)
  })

  it('waits longer each time, up to a limit', async () => {
    const { stream, sources } = setUp()
    stream.start()
    sources[0]!.onerror?.()
    await vi.advanceTimersByTimeAsync(499)
    expect(sources).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    sources[1]!.onerror?.()
    await vi.advanceTimersByTimeAsync(999)
    expect(sources).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1)
    expect(sources).toHaveLength(3)
    expect(waitBefore(30)).toBe(10_000)
  })

  it('ends when told that there is nothing more to come', async () => {
    const { stream, sources, links } = setUp((attempt) => Promise.resolve(attempt < 2))
    stream.start()
    sources[0]!.onerror?.()
    await vi.advanceTimersByTimeAsync(waitBefore(1))
    sources[1]!.onerror?.()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sources).toHaveLength(2)
    expect(links.at(-1)).toBe('idle')
  })

  it('connects at once when the network is back', async () => {
    const { stream, sources } = setUp()
    stream.start()
    stream.hurry()
    expect(sources).toHaveLength(1)
    sources[0]!.onerror?.()
    await vi.advanceTimersByTimeAsync(0)
    stream.hurry()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sources).toHaveLength(2)
  })
})

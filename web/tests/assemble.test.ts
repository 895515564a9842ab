import { describe, expect, it } from 'vitest'
import {
  applyEvent,
  canContinue,
  canVote,
  codePoints,
  fromSnapshot,
  lastTurnSettled,
  leavesGap,
  parseEvent,
  phaseOf,
  unitIndex,
  voidCause,
  type View,
} from '../src/conversation/assemble'
import type { Answer, AnswerState, ArenaEvent, Conversation, Side } from '../src/lib/types'

const answer = (state: AnswerState, text: string | null = null): Answer => ({ state, text, finish_reason: null })

function conversation(a: Answer, b: Answer, change: Partial<Conversation> = {}): Conversation {
  return {
    id: 'c1',
    kind: 'battle',
    state: a.state === 'pending' || b.state === 'pending' ? 'streaming' : 'ready',
    void_reason: null,
    forfeited_by: null,
    created_at: '2026-01-31T12:00:00Z',
    models: null,
    winner: null,
    receipt: null,
    turns: [{ turn: 1, prompt: 'why?', created_at: '2026-01-31T12:00:00Z', answers: { a, b } }],
    ...change,
  }
}

const fresh = (): View => fromSnapshot(conversation(answer('pending'), answer('pending')))
const packet = (side: Side, offset: number, text: string): ArenaEvent => ({ event: 'packet', turn: 1, side, offset, text })
const done = (side: Side, finish_reason = 'stop'): ArenaEvent => ({ event: 'done', turn: 1, side, finish_reason })
const play = (view: View, ...events: ArenaEvent[]): View => events.reduce(applyEvent, view)
const textOf = (view: View, side: Side): string | undefined => view.turns[0]?.answers[side]?.text

describe('offsets count code points', () => {
  it('counts a character outside the basic plane once', () => {
    expect(codePoints('a😀天𠮷')).toBe(4)
    expect(codePoints('')).toBe(0)
  })

  it('counts a lone half of a pair as a character, as Python does', () => {
    expect(codePoints('\ud83d')).toBe(1)
    expect(codePoints('\ude00x')).toBe(2)
  })

  it.each([
    [0, 0],
    [1, 1],
    [2, 3],
    [3, 4],
    [9, 6],
  ])('finds code point %i at unit %i', (offset, unit) => {
    expect(unitIndex('a😀天𠮷', offset)).toBe(unit)
  })

  it('appends behind characters of two units', () => {
    const view = play(fresh(), packet('a', 0, '😀😀'), packet('a', 2, '!'))
    expect(textOf(view, 'a')).toBe('😀😀!')
  })

  it('replaces everything from an earlier offset after a retry', () => {
    const view = play(fresh(), packet('a', 0, '😀天空 is'), packet('a', 1, '海'))
    expect(textOf(view, 'a')).toBe('😀海')
    expect(textOf(play(view, packet('a', 2, '洋')), 'a')).toBe('😀海洋')
  })

  it('gives the same text when events are repeated', () => {
    const events = [packet('a', 0, 'one '), packet('a', 4, '二 '), packet('a', 6, 'three')]
    expect(textOf(play(fresh(), ...events, ...events), 'a')).toBe('one 二 three')
  })
})

describe('sides', () => {
  it('are independent', () => {
    const view = play(fresh(), packet('b', 0, 'B'), packet('a', 0, 'A'), done('b'))
    expect([textOf(view, 'a'), textOf(view, 'b')]).toEqual(['A', 'B'])
    expect(view.state).toBe('streaming')
    expect(lastTurnSettled(view)).toBe(false)
  })

  it('settle the conversation when both are done', () => {
    const view = play(fresh(), done('a'), done('b', 'length'))
    expect(view.state).toBe('ready')
    expect(canVote(view)).toBe(true)
    expect(phaseOf(view.turns[0]!.answers.b!)).toBe('length')
  })

  it('cannot be voted on when one was stopped', () => {
    const view = play(fresh(), done('a'), done('b', 'stopped'))
    expect(lastTurnSettled(view)).toBe(true)
    expect(canVote(view)).toBe(false)
    expect(canContinue(view)).toBe(false)
  })

  it('let a chat go on after a stop', () => {
    const view = play(fromSnapshot(conversation(answer('pending'), answer('done', 'x'), { kind: 'chat' })), done('a', 'stopped'))
    expect(canContinue(view)).toBe(true)
    expect(canVote(view)).toBe(false)
  })

  it('are thinking, then writing', () => {
    expect(phaseOf(fresh().turns[0]!.answers.a!)).toBe('thinking')
    expect(phaseOf(play(fresh(), packet('a', 0, 'x')).turns[0]!.answers.a!)).toBe('writing')
  })

  it('keep the message of a failure, and a void its reason', () => {
    const view = play(fresh(), { event: 'failed', turn: 1, side: 'b', message: 'engine lost' }, { event: 'void', reason: 'b failed' })
    expect(view.turns[0]?.answers.b?.message).toBe('engine lost')
    expect([view.state, view.voidReason]).toEqual(['void', 'b failed'])
    expect(voidCause(view)).toBe('b')
    expect(play(view, done('a')).state).toBe('void')
  })
})

describe('forfeits', () => {
  const late = (side: Side): ArenaEvent => ({ event: 'forfeited', turn: 1, side, message: 'too late' })
  const waiting = (side: Side): ArenaEvent => ({ event: 'waiting', turn: 1, side, message: 'loading' })

  it('end a side and the vote, while the other side goes on', () => {
    const lost = play(fresh(), packet('a', 0, 'half'), late('a'))
    expect([lost.state, lost.forfeitedBy]).toEqual(['streaming', 'a'])
    expect(phaseOf(lost.turns[0]!.answers.a!)).toBe('forfeited')
    expect(textOf(lost, 'a')).toBe('half')
    const over = play(lost, packet('b', 0, 'whole'), done('b'))
    expect(over.state).toBe('forfeited')
    expect(textOf(over, 'b')).toBe('whole')
    expect([canVote(lost), canVote(over), canContinue(over)]).toEqual([false, false, false])
  })

  it('may come when the other side is over', () => {
    expect(play(fresh(), done('b'), late('a')).state).toBe('forfeited')
  })

  it('of both sides, and beside a failure, are none', () => {
    const both = play(fresh(), late('a'), { event: 'void', reason: 'both late' }, late('b'))
    expect([both.state, both.forfeitedBy, voidCause(both)]).toEqual(['void', null, 'late'])
    const failed: ArenaEvent = { event: 'failed', turn: 1, side: 'b', message: 'lost' }
    const broken = play(fresh(), late('a'), { event: 'void', reason: 'b failed' }, failed)
    expect([broken.state, broken.forfeitedBy, voidCause(broken)]).toEqual(['void', null, 'b'])
  })

  it('are in snapshots, and a replay changes nothing', () => {
    const view = fromSnapshot(conversation(answer('forfeited', 'half'), answer('pending'), { forfeited_by: 'a' }))
    expect([view.state, view.forfeitedBy]).toEqual(['streaming', 'a'])
    const again = play(view, packet('a', 0, 'ha'), late('a'))
    expect([textOf(again, 'a'), again.forfeitedBy, again.state]).toEqual(['half', 'a', 'streaming'])
    const over = fromSnapshot(conversation(answer('forfeited', ''), answer('done', 'x'), { state: 'forfeited', forfeited_by: 'a' }))
    expect([over.state, canContinue(over)]).toEqual(['forfeited', false])
  })

  it('let a side say why it has not begun, until it has', () => {
    const waits = play(fresh(), waiting('a'))
    expect(waits.turns[0]?.answers.a?.waiting).toBe('loading')
    expect(phaseOf(waits.turns[0]!.answers.a!)).toBe('thinking')
    const snapshot = fromSnapshot(conversation(answer('pending'), answer('pending')), waits)
    expect(snapshot.turns[0]?.answers.a?.waiting).toBe('loading')
    for (const event of [packet('a', 0, 'x'), done('a'), late('a')]) {
      expect(play(waits, event).turns[0]?.answers.a?.waiting).toBeNull()
    }
    expect(play(fresh(), packet('a', 0, 'x'), waiting('a')).turns[0]?.answers.a?.waiting).toBeNull()
  })
})

describe('snapshots', () => {
  it('are not overwritten by a replay from the start', () => {
    const view = fromSnapshot(conversation(answer('done', 'whole answer'), answer('pending')))
    expect(textOf(play(view, packet('a', 0, 'who')), 'a')).toBe('whole answer')
  })

  it('keep what was streamed where they hold no text yet', () => {
    const streamed = play(fresh(), packet('a', 0, 'half'))
    const again = fromSnapshot(conversation(answer('pending'), answer('pending')), streamed)
    expect(textOf(play(again, packet('a', 4, ' more')), 'a')).toBe('half more')
  })

  it('clear a side that is generated again', () => {
    const stopped = play(fresh(), packet('b', 0, 'half'), done('b', 'stopped'), done('a'))
    const again = fromSnapshot(conversation(answer('done', ''), answer('pending')), stopped)
    expect(textOf(again, 'b')).toBe('')
    expect(textOf(play(again, packet('b', 0, 'new')), 'b')).toBe('new')
  })

  it('go through a stop to its second attempt in a replay', () => {
    const reloaded = fromSnapshot(conversation(answer('done', 'A'), answer('pending')))
    const view = play(reloaded, packet('b', 0, 'first'), done('b', 'stopped'), packet('b', 0, 'sec'), packet('b', 3, 'ond'))
    expect(textOf(view, 'b')).toBe('second')
    expect(view.state).toBe('streaming')
  })

  it('close a side that was pending when the battle became void', () => {
    const view = fromSnapshot(conversation(answer('pending'), answer('failed'), { state: 'void' }))
    expect(view.turns[0]?.answers.a?.state).toBe('stopped')
  })

  it('of another conversation bring nothing along', () => {
    const other = play(fresh(), packet('a', 0, 'old'))
    const view = fromSnapshot(conversation(answer('pending'), answer('pending'), { id: 'c2' }), other)
    expect(textOf(view, 'a')).toBe('')
  })
})

describe('gaps', () => {
  it('are seen where a packet starts beyond the text', () => {
    expect(leavesGap(fresh(), packet('a', 3, 'x'))).toBe(true)
    expect(leavesGap(fresh(), packet('a', 0, 'x'))).toBe(false)
  })

  it('are seen where the turn is unknown, and not in a sealed side', () => {
    expect(leavesGap(fresh(), { event: 'packet', turn: 2, side: 'a', offset: 0, text: 'x' })).toBe(true)
    const sealed = fromSnapshot(conversation(answer('done', 'x'), answer('pending')))
    expect(leavesGap(sealed, packet('a', 50, 'x'))).toBe(false)
  })
})

describe('events as they come', () => {
  it('are read by name', () => {
    expect(parseEvent('packet', '{"turn":1,"side":"a","text":"x","offset":0}')).toEqual(packet('a', 0, 'x'))
    expect(parseEvent('void', '{"reason":"r"}')).toEqual({ event: 'void', reason: 'r' })
    const late = { turn: 1, side: 'a', message: 'm' }
    for (const event of ['forfeited', 'waiting']) expect(parseEvent(event, JSON.stringify(late))).toEqual({ event, ...late })
  })

  it.each([
    ['packet', '{'],
    ['packet', 'null'],
    ['packet', '{"turn":1,"side":"c","text":"x","offset":0}'],
    ['packet', '{"turn":1,"side":"a","text":"x"}'],
    ['done', '{"turn":1,"side":"a"}'],
    ['forfeited', '{"turn":1,"side":"a"}'],
    ['waiting', '{"side":"a","message":"m"}'],
    ['void', '{}'],
    ['other', '{"turn":1,"side":"a"}'],
  ])('are dropped when %s is %s', (name, data) => {
    expect(parseEvent(name, data)).toBeNull()
  })
})

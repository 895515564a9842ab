import { describe, expect, it } from 'vitest'
import { CATALOGUES, formatNumber } from '../src/i18n/index.svelte'
import '../src/i18n/rounds'
import { moveIn } from '../src/lib/matrix'
import {
  comparedOf,
  digitsFor,
  isRunning,
  KNOWN_ROUND_NOTES,
  KNOWN_ROUND_REMARKS,
  knownRoundNote,
  knownRoundRemark,
  lookQuery,
  parseLook,
  placeOn,
  ROUND_TABS,
  scoreReach,
  settledOf,
  sharesOf,
  toggled,
  type RoundLook,
} from '../src/lib/rounds'
import type { AnswerCounts, Figure, RoundRow } from '../src/lib/types'
import { abstention, KNOWN_ABSTENTIONS, verdictsIn } from '../src/lib/verdicts'

const HAN = /\p{Script=Han}/u
const NOTHING: AnswerCounts = { missing: 0, pending: 0, answered: 0, scored: 0, abstained: 0, failed: 0, parked: 0 }
const NONE: Figure = { value: null, low: null, high: null }

const row = (score: Figure): RoundRow => ({
  contestant: 'x',
  rank: null,
  paired_rank: null,
  score,
  scored: 1,
  wins: 0,
  ties: 0,
  losses: 0,
  win_rate: NONE,
  rating: NONE,
  rating_rank: null,
  notes: [],
})

describe('a look at a round', () => {
  it('comes back from every address', () => {
    for (const tab of ROUND_TABS)
      for (const category of [null, 'math & more'])
        for (const question of [null, 'q/1?'])
          for (const models of [[], ['a b', 'c&d']]) {
            const look: RoundLook = { tab, category, question, models }
            expect(parseLook(lookQuery(look))).toEqual(look)
          }
  })

  it('is the board where an address says nothing that is known', () => {
    expect(parseLook('tab=map&colour=red')).toEqual({ tab: 'board', category: null, question: null, models: [] })
    expect(lookQuery(parseLook(''))).toBe('')
  })
})

describe('progress', () => {
  const half: AnswerCounts = { ...NOTHING, scored: 3, failed: 1, pending: 2, missing: 2 }

  it('is told by stage, in order, each with its share', () => {
    expect(sharesOf(half)).toEqual([
      { stage: 'scored', count: 3, share: 3 / 8 },
      { stage: 'pending', count: 2, share: 2 / 8 },
      { stage: 'missing', count: 2, share: 2 / 8 },
      { stage: 'failed', count: 1, share: 1 / 8 },
    ])
    expect(sharesOf(NOTHING)).toEqual([])
  })

  it('counts as settled what nothing more will come of', () => {
    expect(settledOf([half, { ...NOTHING, abstained: 1, parked: 1 }])).toEqual({ done: 6, all: 10 })
  })

  it('runs on for as long as something comes by itself', () => {
    expect(isRunning([half])).toBe(true)
    expect(isRunning([{ ...NOTHING, answered: 1 }])).toBe(true)
    expect(isRunning([{ ...NOTHING, scored: 3, missing: 5, parked: 1 }])).toBe(false)
  })
})

describe('the axis of scores', () => {
  it('holds every interval with some air', () => {
    const ends = scoreReach([row({ value: 1, low: 0, high: 2 }), row({ value: 5, low: null, high: null }), row(NONE)])!
    expect(ends[0]).toBeLessThan(0)
    expect(ends[1]).toBeGreaterThan(5)
    expect(placeOn(ends, ends[0])).toBe(0)
    expect(placeOn(ends, ends[1])).toBe(100)
    expect(placeOn(ends, 2.5)).toBeCloseTo(50)
  })

  it('is there for one lone score, and not for none', () => {
    const ends = scoreReach([row({ value: 3, low: null, high: null })])!
    expect(placeOn(ends, 3)).toBeCloseTo(50)
    expect(scoreReach([row(NONE)])).toBeNull()
  })

  it('says as many digits as tell scores apart', () => {
    expect([null, [0, 0.2], [0, 5], [0, 50], [0, 500]].map((ends) => digitsFor(ends as [number, number] | null))).toEqual([2, 3, 2, 1, 0])
  })
})

describe('answers side by side', () => {
  const ranked = ['first', 'second', 'third']

  it('are those of the two best until others are asked for, in the order of the board', () => {
    expect(comparedOf([], ranked)).toEqual(['first', 'second'])
    expect(comparedOf(['third', 'first', 'stranger'], ranked)).toEqual(['first', 'third'])
    expect(comparedOf(['stranger'], ranked)).toEqual(['first', 'second'])
  })

  it('become more and less, but never none', () => {
    expect(toggled(['first'], 'third')).toEqual(['first', 'third'])
    expect(toggled(['first', 'third'], 'first')).toEqual(['third'])
    expect(toggled(['third'], 'third')).toEqual(['third'])
  })
})

describe('what a board of a round remarks', () => {
  it.each([...KNOWN_ROUND_NOTES.map((code) => `round.note.${code}.text` as const), ...KNOWN_ROUND_REMARKS.map((code) => `round.remark.${code}` as const), ...KNOWN_ABSTENTIONS.map((code) => `round.abstained.${code}` as const)])('is known in both languages: %s', (key) => {
    expect(CATALOGUES.en[key]).toMatch(/[a-z]\.$/)
    expect(CATALOGUES.zh[key]).toMatch(HAN)
  })

  it('stands as it was said where it is not known', () => {
    expect(knownRoundNote({ code: 'from_tomorrow', text: 'New.' })).toBeNull()
    expect(knownRoundRemark({ code: 'from_tomorrow', text: 'New.' })).toBeNull()
    expect(knownRoundNote({ code: 'few_questions', text: '' })).toBe('few_questions')
    expect(abstention('from_tomorrow')).toEqual({ code: 'from_tomorrow', known: null })
    expect(abstention(null)).toBeNull()
  })
})

describe('verdicts', () => {
  it('are those of a judge, and none where the scorer kept something else', () => {
    expect(verdictsIn({ verdicts: ['[[A>B]]', '[[B>A]]'] })).toEqual([
      { order: 'first', verdict: '[[A>B]]' },
      { order: 'second', verdict: '[[B>A]]' },
    ])
    for (const detail of [null, {}, { verdicts: 'A' }, { verdicts: [3, null] }]) expect(verdictsIn(detail)).toEqual([])
  })
})

describe('cells of a grid', () => {
  it('are reached by arrows, over the diagonal and not beyond the ends', () => {
    expect(moveIn(3, { row: 0, column: 1 }, 'ArrowDown')).toEqual({ row: 2, column: 1 })
    expect(moveIn(3, { row: 1, column: 0 }, 'ArrowRight')).toEqual({ row: 1, column: 2 })
    expect(moveIn(3, { row: 0, column: 1 }, 'ArrowLeft')).toBeNull()
    expect(moveIn(3, { row: 0, column: 2 }, 'ArrowRight')).toBeNull()
    expect(moveIn(3, { row: 2, column: 0 }, 'ArrowUp')).toEqual({ row: 1, column: 0 })
    expect(moveIn(3, { row: 2, column: 0 }, 'Enter')).toBeNull()
  })
})

describe('numbers', () => {
  it('below nothing have a minus that no dash is taken for, and nothing has none', () => {
    expect(formatNumber(-1.25, 2)).toBe('−1.25')
    expect(formatNumber(-0.001, 2)).toBe('0.00')
    expect(formatNumber(1234.5, 1)).toBe('1,234.5')
  })
})

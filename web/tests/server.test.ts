import { afterEach, describe, expect, it } from 'vitest'
import { CATALOGUES, language } from '../src/i18n/index.svelte'
import { errorSentence, ERRORS, failureSentence, NOTICES, noticeSentence, SCORERS, scorerWords, VERDICTS, verdictWords, VOIDS, voidSentence, waitSentence, WAITING } from '../src/i18n/server'
import { ApiError } from '../src/lib/http'
import { KNOWN_NOTES } from '../src/lib/standings'

const HAN = /\p{Script=Han}/u
const refusal = (code: string, message = 'The gateway says why.'): ApiError => new ApiError(409, code, message)
const few = { code: 'too_few_models', text: 'Too few.' }

afterEach(() => {
  language.locale = 'en'
})

describe('what the gateway says', () => {
  it.each(Object.entries({ ...ERRORS, ...NOTICES, ...VOIDS, ...SCORERS }))('is known in both languages: %s', (_, { en, zh }) => {
    expect(zh).toMatch(HAN)
    expect(zh).toMatch(/。$/)
    expect(en ?? 'as the gateway says it').not.toBe('')
    expect(en ?? '').not.toMatch(HAN)
  })

  it.each(KNOWN_NOTES)('of a board is known in both languages: %s', (code) => {
    for (const key of [`board.note.${code}`, `board.note.${code}.text`] as const) {
      expect(CATALOGUES.en[key]).toMatch(/[a-z]/)
      expect(CATALOGUES.zh[key]).toMatch(HAN)
    }
  })

  it('stands in English', () => {
    expect(errorSentence(refusal('already_voted'))).toBe('The gateway says why.')
    expect(noticeSentence(few)).toBe('Too few.')
    expect(voidSentence('a', 'It is void.')).toBe('It is void.')
    expect(failureSentence('The engine is gone.')).toBe('The engine is gone.')
  })

  it('gives way to better words in English too', () => {
    expect(errorSentence(refusal('conversation_not_found'))).toBe(ERRORS.conversation_not_found?.en)
  })

  it('is translated by its code', () => {
    language.locale = 'zh'
    expect(errorSentence(refusal('already_voted'))).toBe(ERRORS.already_voted?.zh)
    expect(noticeSentence(few)).toBe(NOTICES.too_few_models?.zh)
    expect(failureSentence('This answer could not be completed.')).toBe(CATALOGUES.zh['answer.failed.text'])
    expect(failureSentence(null)).toBe(CATALOGUES.zh['answer.failed.text'])
  })

  it('names the sides whose answers are missing', () => {
    language.locale = 'zh'
    expect(voidSentence('b', 'It is void.')).toBe(VOIDS.b.zh)
    expect(voidSentence('both', 'It is void.')).toBe(VOIDS.both.zh)
    expect(voidSentence('late', 'It is void.')).toBe(VOIDS.late.zh)
    expect(waitSentence('Loading, 40 %.')).toBe(WAITING.zh)
  })

  it('is shown as it is when nothing is known of it', () => {
    language.locale = 'zh'
    expect(errorSentence(refusal('from_tomorrow'))).toBe('The gateway says why.')
    expect(noticeSentence({ code: 'from_tomorrow', text: 'Maintenance tonight.' })).toBe('Maintenance tonight.')
    expect(voidSentence(null, 'It is void.')).toBe('It is void.')
    expect(failureSentence('The engine is gone.')).toBe('The engine is gone.')
  })

  it('of scorers and engines is translated where it is known', () => {
    language.locale = 'zh'
    expect(scorerWords('overlap', 'About it.')).toBe(SCORERS.overlap?.zh)
    expect(scorerWords('theirs', 'About it.')).toBe('About it.')
    expect(verdictWords('roll_back')).toBe(VERDICTS.roll_back?.zh)
    expect(verdictWords('from_tomorrow')).toBe('from_tomorrow')
  })

  it('is made up for when it said nothing', () => {
    expect(errorSentence(new ApiError(0, 'unreachable', ''))).toBe(CATALOGUES.en['error.unreachable'])
    expect(errorSentence(new ApiError(0, 'unexpected', ''))).toBe(CATALOGUES.en['error.unexpected'])
    expect(errorSentence(new ApiError(503, 'unreadable', ''))).toBe(CATALOGUES.en['error.busy'])
    expect(errorSentence(new ApiError(502, 'unreadable', ''))).toContain('502')
  })
})

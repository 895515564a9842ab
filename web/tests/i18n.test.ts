import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CATALOGUES, fill, language, preferred, t, type Key } from '../src/i18n/index.svelte'
import '../src/i18n/rounds'

const marks = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort()
const keys = Object.keys(CATALOGUES.en) as Key[]

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'i18n' ? [] : sources(path)
    return /\.(?:svelte|ts)$/.test(entry.name) ? [readFileSync(path, 'utf8')] : []
  })
}

describe('the catalogues', () => {
  it('have the same keys', () => {
    expect(Object.keys(CATALOGUES.zh).sort()).toEqual([...keys].sort())
  })

  it('have the same places to fill, and no empty text', () => {
    for (const key of keys) {
      expect(marks(CATALOGUES.zh[key]), key).toEqual(marks(CATALOGUES.en[key]))
      expect(CATALOGUES.zh[key].trim(), key).not.toBe('')
    }
  })

  it('hold no text that nothing shows', () => {
    const code = sources('src').join('\n')
    const prefixes = [...code.matchAll(/t\(`([\w.]+\.)\$\{/g)].map((match) => match[1]!)
    const unused = keys.filter((key) => !code.includes(`'${key}'`) && !prefixes.some((prefix) => key.startsWith(prefix)))
    expect(unused).toEqual([])
  })
})

describe('the language', () => {
  it.each([
    [null, ['zh-TW', 'en'], 'zh'],
    [null, ['de-DE', 'zh-CN'], 'zh'],
    [null, ['fr'], 'en'],
    [null, [], 'en'],
    ['en', ['zh-CN'], 'en'],
    ['xx', ['zh'], 'zh'],
  ] as const)('stored %s with %j is %s', (stored, languages, expected) => {
    expect(preferred(stored, languages)).toBe(expected)
  })

  it('switches and is remembered', () => {
    const before = t('nav.battle')
    language.switch()
    expect(t('nav.battle')).not.toBe(before)
    expect(localStorage.getItem('agon.language')).toBe(language.locale)
    language.switch()
    expect(t('nav.battle')).toBe(before)
  })

  it('fills what it knows and leaves what it does not', () => {
    expect(fill('{a} and {b}', { a: 0 })).toBe('0 and {b}')
  })
})

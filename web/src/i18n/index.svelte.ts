import { keep, recall } from '../lib/storage'
import { en, type Key as FirstKey } from './en'
import type { roundsEn } from './rounds'
import { zh } from './zh'

export type Key = FirstKey | keyof typeof roundsEn
export type Locale = 'en' | 'zh'

/** Texts of screens that load later are there once their screen is. */
export const CATALOGUES = { en: { ...en }, zh: { ...zh } } as Record<Locale, Record<Key, string>>

export function addTexts(texts: Record<Locale, Partial<Record<Key, string>>>): void {
  Object.assign(CATALOGUES.en, texts.en)
  Object.assign(CATALOGUES.zh, texts.zh)
}

const TAGS: Record<Locale, string> = { en: 'en', zh: 'zh-CN' }

export function preferred(stored: string | null, languages: readonly string[]): Locale {
  if (stored === 'en' || stored === 'zh') return stored
  for (const language of languages) {
    const primary = language.toLowerCase().split('-')[0]
    if (primary === 'zh' || primary === 'en') return primary
  }
  return 'en'
}

export function fill(template: string, values: Record<string, string | number>): string {
  return template.replace(/\{(\w+)\}/g, (mark, name: string) => String(values[name] ?? mark))
}

class Language {
  locale = $state<Locale>(preferred(recall('language'), navigator.languages))

  /** The tag for `lang` attributes and for Intl. */
  get tag(): string {
    return TAGS[this.locale]
  }

  switch(): void {
    this.locale = this.locale === 'en' ? 'zh' : 'en'
    keep('language', this.locale)
  }
}

export const language = new Language()

export function t(key: Key, values: Record<string, string | number> = {}): string {
  return fill(CATALOGUES[language.locale][key], values)
}

export function formatNumber(value: number, digits = 0): string {
  const sign = value < 0 && Number(value.toFixed(digits)) !== 0 ? '−' : ''
  return sign + Math.abs(value).toLocaleString(language.tag, { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export function formatTime(iso: string): string {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return iso
  const today = at.toDateString() === new Date().toDateString()
  const style: Intl.DateTimeFormatOptions = today ? { timeStyle: 'short' } : { dateStyle: 'medium', timeStyle: 'short' }
  return at.toLocaleString(language.tag, style)
}

/** A day of the board, which are UTC's. */
export function formatDay(day: Date): string {
  return day.toLocaleDateString(language.tag, { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

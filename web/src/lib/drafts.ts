import { uuid } from './ids'
import { keep, recall } from './storage'

/** Unsent text and the key under which it is sent: sending the same text again can never make a second turn. */
export interface Draft {
  text: string
  key: string
}

export function readDraft(scope: string): Draft {
  const stored = recall(`draft.${scope}`)
  if (stored !== null) {
    const [key, ...text] = stored.split('\n')
    if (key) return { key, text: text.join('\n') }
  }
  return { text: '', key: uuid() }
}

export function editDraft(scope: string, draft: Draft, text: string): Draft {
  const next = text === draft.text ? draft : { text, key: uuid() }
  keep(`draft.${scope}`, text === '' ? null : `${next.key}\n${next.text}`)
  return next
}

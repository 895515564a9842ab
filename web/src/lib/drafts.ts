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
  return store(scope, text === draft.text ? draft : { text, key: uuid() })
}

/** The same text under a new key, for after a refusal: what follows is another attempt, maybe on other terms. */
export function renewDraft(scope: string, draft: Draft): Draft {
  return store(scope, { text: draft.text, key: uuid() })
}

function store(scope: string, draft: Draft): Draft {
  keep(`draft.${scope}`, draft.text === '' ? null : `${draft.key}\n${draft.text}`)
  return draft
}

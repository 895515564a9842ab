import { call } from './http'
import type {
  Board,
  ChatBody,
  Contestant,
  Contestants,
  Conversation,
  ConversationPage,
  PromptBody,
  RegenerateBody,
  Rounds,
  Side,
  SideBySideBody,
  Status,
  VoteBody,
  VoteResult,
  Winner,
} from './types'
import { withQuery } from './view'

const at = (id: string): string => `/arena/battles/${encodeURIComponent(id)}`

export const getStatus = (): Promise<Status> => call('/arena/status')
export const boardPath = (name: string, query: string, part = ''): string =>
  withQuery(`/arena/boards/${encodeURIComponent(name)}${part}`, query)
export const getBoard = (name: string, query: string): Promise<Board> => call(boardPath(name, query))
export const getConversation = (id: string): Promise<Conversation> => call(at(id))

export async function getContestants(): Promise<Contestant[]> {
  return (await call<Contestants>('/arena/models')).models
}

export function getHistory(limit: number, before: string | null): Promise<ConversationPage> {
  const query = new URLSearchParams({ limit: String(limit) })
  if (before !== null) query.set('before', before)
  return call(`/arena/battles?${query}`)
}

export function getRounds(limit: number, before: string | null): Promise<Rounds> {
  const query = new URLSearchParams({ limit: String(limit) })
  if (before !== null) query.set('before', before)
  return call(`/arena/rounds?${query}`)
}

/** What opens a conversation: an anonymous pair, two named models, or one. */
export type Opening =
  | { kind: 'battle' }
  | { kind: 'side_by_side'; models: { a: string; b: string } }
  | { kind: 'chat'; model: string }

export function startConversation(opening: Opening, prompt: string, key: string): Promise<Conversation> {
  const headers = { 'Idempotency-Key': key }
  switch (opening.kind) {
    case 'battle':
      return call('/arena/battles', { method: 'POST', body: { prompt } satisfies PromptBody, headers })
    case 'side_by_side':
      return call('/arena/side-by-side', {
        method: 'POST',
        body: { prompt, models: opening.models } satisfies SideBySideBody,
        headers,
      })
    case 'chat':
      return chat({ prompt, model: opening.model }, key)
  }
}

export function continueConversation(
  conversation: Pick<Conversation, 'id' | 'kind'>,
  prompt: string,
  key: string,
): Promise<Conversation> {
  if (conversation.kind === 'chat') return chat({ prompt, session_id: conversation.id }, key)
  return call(`${at(conversation.id)}/turns`, {
    method: 'POST',
    body: { prompt } satisfies PromptBody,
    headers: { 'Idempotency-Key': key },
  })
}

function chat(body: ChatBody, key: string): Promise<Conversation> {
  return call('/chat', { method: 'POST', body, headers: { Prefer: 'respond-async', 'Idempotency-Key': key } })
}

export const stopConversation = (id: string): Promise<Conversation> => call(`${at(id)}/stop`, { method: 'POST' })

export function regenerateAnswer(id: string, turn: number, side: Side): Promise<Conversation> {
  return call(`${at(id)}/turns/${turn}/regenerate`, { method: 'POST', body: { side } satisfies RegenerateBody })
}

export function castVote(id: string, winner: Winner, key: string): Promise<VoteResult> {
  return call(`${at(id)}/vote`, {
    method: 'POST',
    body: { winner } satisfies VoteBody,
    headers: { 'Idempotency-Key': key },
  })
}

/** What a judge said of an answer, as the scorer keeps it beside the score. Pure. */

export interface OrderedVerdict {
  /** Which of the two the judge saw first: the answer, or the anchor's. */
  order: 'first' | 'second'
  verdict: string
}

export const KNOWN_ABSTENTIONS = ['unparseable', 'orders_disagree', 'judge_abstained'] as const
export type KnownAbstention = (typeof KNOWN_ABSTENTIONS)[number]

export function abstention(code: string | null): { code: string; known: KnownAbstention | null } | null {
  return code === null ? null : { code, known: KNOWN_ABSTENTIONS.find((each) => each === code) ?? null }
}

/** The verdicts of both orders; none where the scorer is no judge. */
export function verdictsIn(detail: Record<string, unknown> | null): OrderedVerdict[] {
  const said = detail?.verdicts
  if (!Array.isArray(said)) return []
  return (['first', 'second'] as const).flatMap((order, place) => {
    const verdict: unknown = said[place]
    return typeof verdict === 'string' ? [{ order, verdict }] : []
  })
}

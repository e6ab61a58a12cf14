import type { Queryable } from '../../../shared/postgres/database.ts'
import { cut } from '../../store/search/excerpt.ts'
import type { ColdReader } from '../reader.ts'
import { keyOf, lookIntoTexts } from './span-texts.ts'
import type { KnownTrace, SpanText, TimedTrace } from './span-texts.ts'

/** The most characters of a side that an excerpt has: no more are kept. */
export const EXCERPT_MAX = 1024
/** Spans that are read at a time for a side of a trace; no more than the last number of them. */
const SPANS = [2, 16, 128] as const
/** A list is shown without those that are not read within this. */
const BUDGET_MS = 1500

/** What a trace was asked and what it answered, as far as that is known; null where nothing is. */
export interface TraceExcerpt {
  readonly input: string | null
  readonly output: string | null
}

/**
 * The last message of the first span that was given one, and the answer of the root, or else of the
 * last span that has one, by `keyOf`.
 */
export async function findExcerpts(
  sql: Queryable,
  traces: readonly TimedTrace[],
  { length, cold }: { readonly length: number; readonly cold: ColdReader | undefined },
): Promise<(trace: KnownTrace) => TraceExcerpt> {
  const until = performance.now() + BUDGET_MS
  const look = { steps: SPANS, until, cold, mayMiss: true }
  const asked = await lookIntoTexts(sql, traces, {
    ...look,
    order: 'first',
    find: ({ text, askedAt, answeredAt }: SpanText) =>
      askedAt === null ? undefined : shorten(text.slice(askedAt, answeredAt ?? undefined), length),
  })
  const answered = await lookIntoTexts(sql, traces, {
    ...look,
    order: 'root',
    find: ({ text, answeredAt }: SpanText) =>
      answeredAt === null ? undefined : shorten(text.slice(answeredAt), length),
  })
  return (trace) => ({
    input: asked.found.get(keyOf(trace)) ?? null,
    output: answered.found.get(keyOf(trace)) ?? null,
  })
}

function shorten(text: string, length: number): string {
  const whole = text.trim()
  const part = cut(whole, length)
  return part.length < whole.length ? `${part}…` : part
}

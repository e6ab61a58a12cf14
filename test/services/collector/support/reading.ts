import { bearer } from './harness.ts'
import type { Harness } from './harness.ts'

/** The answer to a question for one span. */
interface SpanAnswer {
  readonly span: { readonly name: string; readonly [field: string]: unknown }
  readonly columns: Record<string, unknown>
  readonly messages: { readonly input: unknown; readonly output: unknown }
  readonly [field: string]: unknown
}

/** Asks the collector with a fresh token. */
export const ask = async ({ collector }: Harness, path: string): Promise<Response> =>
  fetch(`${collector.url}${path}`, { headers: { authorization: await bearer() } })

/** A span by the ids of it and of its trace, as the read API has it. */
export async function readSpan(
  harness: Harness,
  { traceId, spanId }: { readonly traceId: string; readonly spanId: string },
): Promise<SpanAnswer> {
  const response = await ask(harness, `/api/traces/${traceId}/spans/${spanId}`)
  if (response.status !== 200) throw new Error(await response.text())
  return (await response.json()) as SpanAnswer
}

import { TraceFlags } from '@opentelemetry/api'
import type { SpanContext } from '@opentelemetry/api'

/**
 * The ids of the root span of a run, known to everyone who knows the run: the trace id is the
 * kickoff id, a UUID, without its dashes, and the span id its second half.
 */
export function runSpan(kickoffId: string): SpanContext {
  const traceId = kickoffId.replaceAll('-', '').toLowerCase()
  return { traceId, spanId: traceId.slice(16), traceFlags: TraceFlags.SAMPLED }
}

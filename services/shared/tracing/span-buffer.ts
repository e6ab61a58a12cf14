import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base'

/** The most spans that wait for the collector; spans beyond that are dropped and counted. */
export const SPANS_MAX = 4096
const BYTES_MAX = 33_554_432
/** Ids, times and short attributes of one span. */
const SPAN_BYTES = 1000

/** A number of spans, and what became of them. */
export interface SpanCount {
  readonly fate: 'exported' | 'dropped'
  readonly count: number
}

/** A bounded account of the spans that wait. */
interface SpanBuffer {
  /** Takes a span, if there is room for it. */
  take(span: ReadableSpan): boolean
  /** Lets go of spans that were sent, or given up. */
  release(spans: readonly ReadableSpan[]): void
}

/**
 * Counts what waits: the SDK bounds spans by number only, and one span may hold a whole
 * conversation.
 */
export function createSpanBuffer(): SpanBuffer {
  const sizes = new Map<ReadableSpan, number>()
  let bytes = 0
  return {
    take(span) {
      const size = sizeOf(span)
      if (sizes.size >= SPANS_MAX || bytes + size > BYTES_MAX) return false
      sizes.set(span, size)
      bytes += size
      return true
    },
    release(spans) {
      for (const span of spans) {
        bytes -= sizes.get(span) ?? 0
        sizes.delete(span)
      }
    },
  }
}

function sizeOf({ attributes }: ReadableSpan): number {
  const lengths = Object.values(attributes).map((value) =>
    typeof value === 'string' ? value.length : 0,
  )
  return lengths.reduce((sum, length) => sum + length, SPAN_BYTES)
}

interface BoundOptions {
  readonly processor: SpanProcessor
  readonly buffer: SpanBuffer
  readonly onDropped: () => void
}

/** A processor that hands on the spans for which there is room. */
export function boundProcessor({ processor, buffer, onDropped }: BoundOptions): SpanProcessor {
  return {
    onStart: (span, context) => processor.onStart(span, context),
    onEnd(span) {
      if (buffer.take(span)) processor.onEnd(span)
      else onDropped()
    },
    forceFlush: () => processor.forceFlush(),
    shutdown: () => processor.shutdown(),
  }
}

import { RandomIdGenerator } from '@opentelemetry/sdk-trace-base'
import type { IdGenerator } from '@opentelemetry/sdk-trace-base'

/** Ids in hexadecimal: 32 digits for a trace, 16 for a span. */
export interface SpanIds {
  readonly traceId: string
  readonly spanId: string
}

/**
 * An id generator of the SDK; the next root span gets the ids of `use`, all others random ones. A
 * span is made synchronously, so nothing comes between.
 */
export function createNextIds(): { generator: IdGenerator; use: (ids: SpanIds) => void } {
  const random = new RandomIdGenerator()
  let next: Partial<SpanIds> = {}
  // Each is taken once; the SDK asks for the span's first, and for a trace's only at a root.
  const take = (name: keyof SpanIds): string | undefined => {
    const { [name]: id, ...others } = next
    next = others
    return id
  }
  return {
    generator: {
      generateTraceId: () => take('traceId') ?? random.generateTraceId(),
      generateSpanId: () => take('spanId') ?? random.generateSpanId(),
    },
    use(ids) {
      next = ids
    },
  }
}

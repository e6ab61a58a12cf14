import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { describe, expect, it } from 'vitest'
import { patientExporter } from '../../../../services/shared/tracing/patient-exporter.ts'
import {
  boundProcessor,
  createSpanBuffer,
  SPANS_MAX,
} from '../../../../services/shared/tracing/span-buffer.ts'

type Result = Parameters<Parameters<SpanExporter['export']>[1]>[0]

const UNREACHABLE: Result = { code: 1, error: new Error('ECONNREFUSED') }
const REFUSED: Result = { code: 1, error: Object.assign(new Error('Unauthorized'), { code: 401 }) }
const SENT: Result = { code: 0 }

/** An exporter that reports what it is told to, in order; the last one is repeated. */
function exporterOf(...results: Result[]) {
  let calls = 0
  const exporter: SpanExporter = {
    export(_, report) {
      const result = results[Math.min(calls, results.length - 1)] ?? SENT
      calls += 1
      report(result)
    },
    shutdown: async () => {},
  }
  return { exporter, calls: () => calls }
}

function exportWith(inner: SpanExporter, limits: { waitMs: number; forMs: number }) {
  const done: (Error | undefined)[] = []
  const onDone = (_: readonly ReadableSpan[], error: Error | undefined) => void done.push(error)
  const exporter = patientExporter({ exporter: inner, ...limits, onDone })
  const result = new Promise<Result>((resolve) => exporter.export([], resolve))
  return { exporter, result, done }
}

describe('spans that wait for the collector', () => {
  it('are sent again while it is unavailable, and counted once', async () => {
    const { exporter, calls } = exporterOf(UNREACHABLE, UNREACHABLE, SENT)
    const { result, done } = exportWith(exporter, { waitMs: 1, forMs: 10_000 })
    expect(await result).toEqual(SENT)
    expect([calls(), done]).toEqual([3, [undefined]])
  })

  it('are not sent again when they were refused', async () => {
    const { exporter, calls } = exporterOf(REFUSED)
    expect(await exportWith(exporter, { waitMs: 1, forMs: 10_000 }).result).toEqual(REFUSED)
    expect(calls()).toBe(1)
  })

  it('are given up after a while, or at once when the worker ends', async () => {
    const late = exportWith(exporterOf(UNREACHABLE).exporter, { waitMs: 1, forMs: 5 })
    expect(await late.result).toEqual(UNREACHABLE)
    const ending = exportWith(exporterOf(UNREACHABLE).exporter, { waitMs: 60_000, forMs: 120_000 })
    ending.exporter.abandon()
    expect(await ending.result).toEqual(UNREACHABLE)
    expect(ending.done).toEqual([UNREACHABLE.error])
  })

  it('are bounded in number and in bytes', () => {
    const taken: ReadableSpan[] = []
    let dropped = 0
    const buffer = createSpanBuffer()
    const processor = new SimpleSpanProcessor({
      export: (spans) => void taken.push(...spans),
      shutdown: async () => {},
    })
    const provider = new BasicTracerProvider({
      spanProcessors: [boundProcessor({ processor, buffer, onDropped: () => (dropped += 1) })],
    })
    const tracer = provider.getTracer('test')
    const end = (attributes = {}) => tracer.startSpan('x', { attributes }).end()
    for (let i = 0; i < 40; i += 1) end({ text: 'x'.repeat(1_000_000) })
    expect([taken.length, dropped]).toEqual([33, 7])
    buffer.release(taken.splice(0))
    for (let i = 0; i < SPANS_MAX + 1; i += 1) end()
    expect([taken.length, dropped]).toEqual([SPANS_MAX, 8])
  })
})

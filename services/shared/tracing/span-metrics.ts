import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'
import type { SpanCount } from './span-buffer.ts'

/** Registers the counter of the spans of a service, and returns what adds to it. */
export function countSpans(registry: Registry, service: string): (count: SpanCount) => void {
  const spans = new Counter({
    name: `${service}_spans_total`,
    help: 'Spans that were sent to the trace collector, or dropped because it did not take them.',
    labelNames: ['fate'] as const,
    registers: [registry],
  })
  for (const fate of ['exported', 'dropped']) spans.inc({ fate }, 0)
  return ({ fate, count }) => spans.inc({ fate }, count)
}

import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type {
  TraceHistogram,
  TracePage,
  TraceTotals,
} from '../../../services/shared/trace-answers/lists.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import {
  anyFilter,
  fits,
  someTraces,
  toParameters,
  toQuery,
  toSpans,
} from './support/list-oracle.ts'
import type { AnyFilter, ExpectedTrace } from './support/list-oracle.ts'
import { freshId, requestOf, textAttribute, toProtobuf } from './support/otlp.ts'
import { ask } from './support/reading.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 4)
const FILTERS_A_RUN = 12

const SORTS: Readonly<Record<string, (trace: ExpectedTrace) => number | undefined>> = {
  newest: ({ startMs }) => startMs,
  oldest: ({ startMs }) => -startMs,
  duration: ({ durationMs }) => durationMs,
  cost: ({ cents }) => cents,
  tokens: ({ tokens }) => tokens,
}

describe('lists, totals and histograms', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const get = async <Answer>(path: string): Promise<Answer> => {
    const response = await ask(harness, `/api/traces${path}`)
    if (response.status !== 200) throw new Error(`${path}: ${await response.text()}`)
    // The shape is what the code under test says it is.
    return (await response.json()) as Answer
  }

  const listAll = async (parameters: URLSearchParams): Promise<string[]> => {
    const ids: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const next: string = cursor === '' ? '' : `&cursor=${cursor}`
      const page: TracePage = await get(`?${parameters.toString()}&limit=2${next}`)
      ids.push(...page.traces.map(({ trace_id }) => trace_id))
      cursor = page.next_cursor
    }
    return ids
  }

  /** In the list's order; with equal values the later start comes first, then the higher id. */
  const inOrder = (traces: readonly ExpectedTrace[], sort: string): string[] => {
    const keyed = traces.flatMap((trace) => {
      const key = SORTS[sort]?.(trace)
      return key === undefined ? [] : [{ ...trace, key }]
    })
    const direction = sort === 'oldest' ? 1 : -1
    const sorted = keyed.toSorted(
      (a, b) =>
        b.key - a.key ||
        direction * (a.startMs - b.startMs) ||
        direction * (a.traceId < b.traceId ? -1 : 1),
    )
    return sorted.map(({ traceId }) => traceId)
  }

  const checkAll = async (traces: readonly ExpectedTrace[], parameters: URLSearchParams) => {
    const sum = (of: (trace: ExpectedTrace) => number): number =>
      traces.reduce((all, trace) => all + of(trace), 0)
    const withStatus = (status: string): number =>
      traces.filter((trace) => trace.status === status).length
    const counts = {
      traces: traces.length,
      ok: withStatus('ok'),
      error: withStatus('error'),
      running: withStatus('running'),
      incomplete: withStatus('incomplete'),
    }
    const totals: TraceTotals = await get(`/totals?${parameters.toString()}`)
    expect(totals).toMatchObject({ ...counts, tokens: { output: sum(({ tokens }) => tokens) } })
    expect(Math.round((totals.cost_usd ?? 0) * 100)).toBe(sum(({ cents }) => cents ?? 0))
    expect(totals.cost_usd === null).toBe(traces.every(({ cents }) => cents === undefined))
    const histogram: TraceHistogram = await get(`/histogram?${parameters.toString()}&interval=1h`)
    const hours = new Map<number, number>()
    for (const { startMs } of traces) {
      const hour = Math.floor(startMs / 3_600_000) * 3_600_000
      hours.set(hour, (hours.get(hour) ?? 0) + 1)
    }
    expect(histogram.buckets.map(({ from, traces: count }) => [Date.parse(from), count])).toEqual(
      [...hours].toSorted(([a], [b]) => a - b),
    )
    for (const status of ['ok', 'error', 'running', 'incomplete'] as const) {
      const inBuckets = histogram.buckets.reduce((all, bucket) => all + bucket[status], 0)
      expect(inBuckets).toBe(counts[status])
    }
  }

  const send = async (traces: readonly Parameters<typeof toSpans>[0][], now: number) => {
    const crew = freshId()
    const made = traces.map((trace) => toSpans(trace, crew, now))
    const request = requestOf(...made.flatMap(([, spans]) => spans))
    request.resourceSpans?.[0]?.resource?.attributes?.push(textAttribute('region', 'north'))
    expect((await harness.post(toProtobuf(request))).status).toBe(200)
    await harness.rolledUp()
    return { crew, expected: made.map(([expected]) => expected) }
  }

  it('are those of the spans, for any filter and order', async () => {
    const question = fc.tuple(anyFilter, fc.constantFrom(...Object.keys(SORTS)))
    const questions = fc.array(question, { minLength: FILTERS_A_RUN, maxLength: FILTERS_A_RUN })
    await fc.assert(
      fc.asyncProperty(someTraces, questions, async (given, asked) => {
        const now = Date.now()
        const { crew, expected } = await send(given, now)
        const check = async ([filter, sort]: [AnyFilter, string]): Promise<void> => {
          const fitting = expected.filter((trace) => fits(trace, filter, now))
          const parameters = toParameters({ ...filter, crew }, now)
          await checkAll(fitting, parameters)
          parameters.set('sort', sort)
          expect(await listAll(parameters)).toEqual(inOrder(fitting, sort))
          expect(await listAll(toQuery(parameters))).toEqual(inOrder(fitting, sort))
        }
        for (const one of asked) await check(one)
      }),
      { numRuns: RUNS },
    )
  }, 300_000)
})

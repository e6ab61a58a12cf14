import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Collector } from '../../../services/collector/start.ts'
import { isLong } from '../../support/long.ts'
import { programPath } from '../../support/program.ts'
import { spawnCollector } from './support/process.ts'
import { createHarness, postTo, readMetric } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { nanos, requestOf, spanOf, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'

const [ROUNDS, SPANS] = isLong ? [4, 3000] : [2, 1000]

describe('spans that are sent again (SPEC 1.5)', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const deadlocks = async (): Promise<number> => {
    await harness.sql`select pg_stat_force_next_flush()`
    const [row] = await harness.sql`
      select deadlocks::int from pg_stat_database where datname = current_database()`
    return Number(row?.['deadlocks'])
  }
  const balance = async ({ metricsUrl }: Collector): Promise<number> =>
    (await readMetric(metricsUrl, 'collector_spans_committed_total')) +
    (await readMetric(metricsUrl, 'collector_spans_duplicate_total'))
  const names = async ({ traceId = '' }: OtlpSpan): Promise<unknown[]> =>
    (await harness.sql`select name from spans where trace_id = ${traceId}::uuid`).map(
      ({ name }) => name as unknown,
    )

  it('stores each span once when batches come up to five times, over three processes', async () => {
    const { databaseUrl } = harness
    const main = programPath('collector')
    const collectors = await Promise.all([1, 2, 3].map(() => spawnCollector(main, { databaseUrl })))
    onTestFinished(async () => {
      await Promise.all(collectors.map((one) => one.kill('SIGKILL')))
    })
    const batches = Array.from({ length: 30 }, () => Array.from({ length: 40 }, () => spanOf()))
    // Clients that batch anew send the same spans in other groups and orders.
    const regrouped = batches.slice(0, 10).map((_, i) => batches.map((batch) => batch[i] ?? {}))
    const sends = [
      ...batches.flatMap((batch, i) => Array.from({ length: 1 + (i % 5) }, () => batch)),
      ...regrouped.map((batch) => batch.toReversed()),
    ].sort(() => Math.random() - 0.5)
    const before = await deadlocks()
    const answers = await Promise.all(
      sends.map((batch, i) =>
        postTo(collectors[i % 3]?.url ?? '', toProtobuf(requestOf(...batch))),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const ids = batches.flat().map(({ traceId = '' }) => traceId)
    const rows = await harness.sql`
      select from spans where trace_id = any (${ids}::text[]::uuid[])`
    expect(rows.length).toBe(1200)
    expect(await deadlocks()).toBe(before)
    const sum = async (name: string, labels?: Record<string, string>): Promise<number> => {
      const each = collectors.map(({ metricsUrl }) => readMetric(metricsUrl, name, labels))
      return (await Promise.all(each)).reduce((all, one) => all + one, 0)
    }
    expect(await sum('collector_flush_retries_total', { sqlstate_class: '40' })).toBe(0)
    expect(await sum('collector_spans_committed_total')).toBe(1200)
    expect(await sum('collector_spans_duplicate_total')).toBe(sends.flat().length - 1200)
  }, 180_000)

  it('never lets two collectors wait for each other, whatever the order of the spans', async () => {
    const other = await harness.another()
    const before = await deadlocks()
    for (let round = 0; round < ROUNDS; round++) {
      const spans = Array.from({ length: SPANS }, () => spanOf())
      const answers = await Promise.all([
        postTo(harness.collector.url, toProtobuf(requestOf(...spans))),
        postTo(other.url, toProtobuf(requestOf(...spans.toReversed()))),
      ])
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
    }
    expect(await deadlocks()).toBe(before)
    await other.stop()
  })

  it('commits each span once, with its last end, whatever replicas get again of it', async () => {
    const other = await harness.another()
    const ends = new Map<OtlpSpan, number>()
    const began = Date.now() + 1000
    const toBody = (spans: readonly OtlpSpan[]): Buffer =>
      toProtobuf(
        requestOf(
          ...spans.map((span) => ({ ...span, endTimeUnixNano: nanos(ends.get(span) ?? began) })),
        ),
      )
    const send = async (bodies: readonly Buffer[], url: string): Promise<void> => {
      const answers = await Promise.all(bodies.map((body) => postTo(url, body)))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    }
    const sentBefore = await balance(other)
    let sent = 0
    for (let round = 0; round < ROUNDS; round++) {
      const requests = Array.from({ length: 40 }, () => Array.from({ length: 5 }, () => spanOf()))
      const same = requests.slice(0, 12)
      // Some of a request ends later, is new, or is what a client has regrouped.
      const changed = requests.slice(12, 18).map((spans) => [...spans, spanOf()])
      const regrouped = Array.from({ length: 5 }, (_, i) =>
        requests.slice(18, 24).map((spans) => spans[i] ?? {}),
      )
      const fresh = Array.from({ length: 20 }, () => [spanOf(), spanOf()])
      const first = requests.map(toBody)
      for (const span of requests.flat()) ends.set(span, began)
      await send(first, harness.collector.url)
      for (const spans of changed) {
        for (const span of spans.slice(1, 3)) ends.set(span, began + 5000)
      }
      const second = [...same, ...changed, ...regrouped, ...fresh]
      for (const span of second.flat()) ends.set(span, ends.get(span) ?? began)
      await send(second.map(toBody), other.url)
      sent += second.flat().length
    }
    const ids = [...ends.keys()].map(({ traceId = '' }) => traceId)
    const rows = await harness.sql<{ trace: string; ms: number }[]>`
      select trace_id::text as trace,
        ((extract(epoch from start_time) * 1e9 + start_ns + duration_ns) / 1e6)::float8 as ms
      from spans where trace_id = any (${ids}::text[]::uuid[])`
    expect(rows.length).toBe(ends.size)
    const stored = new Map(rows.map(({ trace, ms }) => [trace.replaceAll('-', ''), Math.round(ms)]))
    const wanted = [...ends].map(([{ traceId = '' }, end]) => [traceId, end] as const)
    expect(stored).toEqual(new Map(wanted))
    expect((await balance(other)) - sentBefore).toBe(sent)
    await other.stop()
  })

  it('keeps the span that ends last, in whatever order they come', async () => {
    const now = Date.now()
    const pending = spanOf({ name: 'pending' })
    delete pending.endTimeUnixNano
    const done = { ...pending, name: 'done', endTimeUnixNano: nanos(now + 100) }
    const later = { ...pending, name: 'later', endTimeUnixNano: nanos(now + 200) }
    for (const span of [pending, done, later, done, pending]) {
      expect((await harness.post(toProtobuf(requestOf(span)))).status).toBe(200)
    }
    expect(await names(pending)).toEqual(['later'])
  })

  it('keeps the span that ends last of those in one request', async () => {
    const now = Date.now()
    const pending = spanOf({ name: 'pending', endTimeUnixNano: nanos(now + 100) })
    const done = { ...pending, name: 'done', endTimeUnixNano: nanos(now + 200) }
    const alone = spanOf({ name: 'alone' })
    const response = await harness.post(toProtobuf(requestOf(pending, alone, done, pending)))
    expect(response.status).toBe(200)
    expect(await names(pending)).toEqual(['done'])
    expect(await names(alone)).toEqual(['alone'])
  })

  it('takes absurd ends without harm', async () => {
    const span = spanOf({ endTimeUnixNano: '18446744073709551615' })
    for (const end of ['18446744073709551615', '1', nanos(Date.now())]) {
      const body = toProtobuf(requestOf({ ...span, endTimeUnixNano: end }))
      expect((await harness.post(body)).status).toBe(200)
    }
    expect(await names(span)).toHaveLength(1)
  })
})

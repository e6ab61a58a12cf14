import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHarness, slowness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { requestOf, spanOf, toProtobuf } from './support/otlp.ts'
import { decodePartialSuccess } from './support/status.ts'

describe('spans that the database refuses (SPEC 1.5)', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness({ COLLECTOR_WRITERS: '1' }, { ackTimeoutMs: 8000 * slowness })
    // The transcoder repairs all that PostgreSQL is known to refuse; this stands for what nobody
    // has thought of.
    await harness.sql`alter table spans add constraint tasty check (name not like 'poison%')`
  })
  afterAll(() => harness.stop())

  it('are found, kept apart with the reason, reported; their neighbours are stored', async () => {
    const good = Array.from({ length: 10 }, (_, i) =>
      [...Array(9)].map(() => spanOf({ name: `${i}` })),
    )
    const poison = good.map((_, i) => spanOf({ name: i % 5 === 0 ? 'poison' : 'fine' }))
    const answers = await Promise.all(
      good.map((spans, i) => harness.post(toProtobuf(requestOf(...spans, poison[i] ?? {})))),
    )
    const partials = await Promise.all(
      answers.map(async (answer) => decodePartialSuccess(await answer.arrayBuffer())),
    )
    expect(partials.map((partial) => partial?.rejected)).toEqual(
      good.map((_, i) => (i % 5 === 0 ? 1 : undefined)),
    )
    expect(partials[0]?.message).toContain('refused_by_database')
    const [{ count } = {}] = await harness.sql`select count(*)::int from spans`
    expect(count).toBe(98)
    const rejects = await harness.sql`
      select trace_id, sqlstate, reason, length(row_bytes) > 100 as has_bytes from span_rejects`
    expect(rejects).toHaveLength(2)
    expect(rejects[0]).toMatchObject({ sqlstate: '23514', hasBytes: true })
    expect(String(rejects[0]?.['reason'])).toContain('tasty')
    const ids = rejects.map(({ traceId }) => String(traceId).replaceAll('-', ''))
    expect(new Set(ids)).toEqual(new Set([poison[0]?.traceId, poison[5]?.traceId]))
  })

  it('leave the metrics in balance with duplicates, refusals and all', async () => {
    const span = spanOf()
    const body = toProtobuf(
      requestOf(span, span, spanOf({ traceId: '' }), spanOf({ name: 'poison' })),
    )
    await Promise.all([1, 2, 3].map(() => harness.post(body)))
    await harness.post(Buffer.from('damaged'))
    const [received, committed, duplicates, rejected, queued] = await Promise.all(
      [
        'collector_spans_received_total',
        'collector_spans_committed_total',
        'collector_spans_duplicate_total',
        'collector_spans_rejected_total',
        'collector_queue_rows',
      ].map((name) => harness.metric(name)),
    )
    expect({ received, committed, duplicates, rejected, queued }).toEqual({
      received: 112,
      committed: 99,
      duplicates: 5,
      rejected: 8,
      queued: 0,
    })
    const rows = await harness.sql`select from spans`
    expect(rows.length).toBe(committed)
  })

  it('leave every metric that operators are promised (SPEC 4.6)', async () => {
    const exposition = await (await fetch(`${harness.collector.metricsUrl}/metrics`)).text()
    const names = [
      'http_requests_total{code="200",encoding="protobuf"}',
      'requests_refused_total{reason="bad_body"}',
      'ack_seconds_bucket',
      'flush_seconds_bucket',
      'flush_rows_bucket',
      'queue_bytes 0',
      'queue_capacity_bytes',
      'oldest_unflushed_seconds 0',
      'last_commit_timestamp_seconds',
      'partition_bytes{partition="spans_',
      'partitions 5',
      'retention_last_success_timestamp_seconds',
      'retention_dropped_partitions_total{reason="expired"} 0',
      'migration_version ',
      'db_up 1',
    ]
    for (const name of names) expect(exposition).toContain(`collector_${name}`)
    expect(exposition).toContain('process_cpu_seconds_total')
  })
})

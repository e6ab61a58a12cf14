import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { start } from '../../../services/collector/start.ts'
import type { Collector } from '../../../services/collector/start.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { isLong } from '../../support/long.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { createDatabaseProxy } from './support/database-proxy.ts'
import type { DatabaseProxy } from './support/database-proxy.ts'
import { environment, postTo, readMetric, silent } from './support/harness.ts'
import { requestOf, spanOf, toProtobuf } from './support/otlp.ts'

interface HealthBody {
  status: string
  database: string
  queue_bytes: number
  oldest_unflushed_ms: number
}

describe('health and outages of the database (SPEC 4.6, 8)', () => {
  let database: TestDatabase
  let proxy: DatabaseProxy
  let collector: Collector
  let sql: Database
  beforeAll(async () => {
    database = await createDatabase('collector')
    proxy = await createDatabaseProxy(database.url)
    sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
    collector = await start(environment(proxy.url), {
      log: silent,
      drainMs: 0,
      ackTimeoutMs: 600,
    })
    await collector.ready
  })
  afterEach(() => proxy.restore())
  afterAll(async () => {
    await collector.stop()
    await sql.end()
    await proxy.close()
    await database.drop()
  })

  const health = async (url = collector.url): Promise<[number, HealthBody]> => {
    const response = await fetch(`${url}/health`)
    return [response.status, (await response.json()) as HealthBody]
  }
  const statusIs = (wanted: string) =>
    expect.poll(async () => (await health())[1].status).toBe(wanted)
  const stored = async (traceId = ''): Promise<number> =>
    (await sql`select from spans where trace_id = ${traceId}::uuid`).length

  it('is ok while the database answers and nothing waits', async () => {
    await statusIs('ok')
    expect(await health()).toEqual([
      200,
      {
        status: 'ok',
        database: 'up',
        storage: 'ok',
        storage_full_on: null,
        days_held_back: 0,
        days_dropped_early: 0,
        clock: 'ok',
        clock_skew_ms: expect.any(Number) as number,
        revocations: 'ok',
        search: 'on',
        roll_ups: 'ok',
        roll_up_lag_ms: expect.any(Number) as number,
        queue_bytes: 0,
        oldest_unflushed_ms: 0,
        archived_days: 0,
        archive_failure: null,
      },
    ])
  })

  it.each(['cut', 'freeze'] as const)(
    'answers 503, stays alive and stores what it has once, when the way is %s',
    async (fault) => {
      expect((await postTo(collector.url, toProtobuf(requestOf(spanOf())))).status).toBe(200)
      proxy[fault]()
      const span = spanOf()
      const body = toProtobuf(requestOf(span))
      const first = await postTo(collector.url, body)
      expect(first.status).toBe(503)
      expect(first.headers.get('retry-after')).toBe('1')
      expect((await postTo(collector.url, body)).status).toBe(503)
      await statusIs('degraded')
      const [code, report] = await health()
      expect(code).toBe(200)
      expect(report.database).toBe('down')
      expect(report.queue_bytes).toBeGreaterThan(0)
      expect(await readMetric(collector.metricsUrl, 'collector_queue_rows')).toBe(2)
      proxy.restore()
      await statusIs('ok')
      await expect.poll(() => stored(span.traceId)).toBe(1)
      await expect.poll(() => readMetric(collector.metricsUrl, 'collector_queue_rows')).toBe(0)
      const retry = await postTo(collector.url, body)
      expect(retry.status).toBe(200)
      expect(await stored(span.traceId)).toBe(1)
    },
  )

  it('loses and doubles no acknowledged span when connections are cut under load', async () => {
    let sent = 0
    let isLoading = true
    const [before] = await sql`select count(*)::int as rows from spans`
    const client = async (): Promise<void> => {
      while (isLoading) {
        const spans = Array.from({ length: 50 }, () => spanOf())
        const body = toProtobuf(requestOf(...spans))
        sent += spans.length
        while ((await postTo(collector.url, body)).status !== 200);
      }
    }
    const clients = Array.from({ length: 6 }, client)
    for (let cuts = 0; cuts < (isLong ? 6 : 3); cuts++) {
      const reached = sent + 600
      await expect.poll(() => sent, { interval: 1 }).toBeGreaterThan(reached)
      proxy.cut()
      proxy.restore()
    }
    isLoading = false
    await Promise.all(clients)
    const [after] = await sql`
      select count(*)::int as rows, count(distinct (trace_id, span_id))::int as spans from spans`
    expect(after?.['rows']).toBe(after?.['spans'])
    expect(Number(after?.['rows']) - Number(before?.['rows'])).toBe(sent)
  })

  it('starts before PostgreSQL, and answers 503 "starting" until that is ready', async () => {
    proxy.cut()
    const early = await start(environment(proxy.url), { log: silent, drainMs: 0 })
    const [code, report] = await health(early.url)
    expect([code, report.status]).toEqual([503, 'starting'])
    const response = await postTo(early.url, toProtobuf(requestOf(spanOf())))
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    proxy.restore()
    await early.ready
    expect((await health(early.url))[0]).toBe(200)
    expect((await postTo(early.url, toProtobuf(requestOf(spanOf())))).status).toBe(200)
    await early.stop()
  })

  it('stops while PostgreSQL is unavailable', async () => {
    proxy.cut()
    const early = await start(environment(proxy.url), { log: silent, drainMs: 0 })
    await early.stop()
    await expect(fetch(`${early.url}/health`)).rejects.toThrow()
  })
})

describe('stopping (SPEC 8)', () => {
  it('answers 503 to probes, still takes spans for a while, and commits them first', async () => {
    const database = await createDatabase('collector')
    const collector = await start(environment(database.url), { log: silent, drainMs: 3000 })
    await collector.ready
    const stopped = collector.stop()
    const response = await fetch(`${collector.url}/health`)
    expect(response.status).toBe(503)
    expect(((await response.json()) as HealthBody).status).toBe('draining')
    const spans = Array.from({ length: 20 }, () => spanOf())
    const answers = await Promise.all(
      spans.map((span) => postTo(collector.url, toProtobuf(requestOf(span)))),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    await stopped
    const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
    expect((await sql`select from spans`).length).toBe(20)
    await sql.end()
    await database.drop()
  })
})

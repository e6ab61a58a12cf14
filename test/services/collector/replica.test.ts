import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openAnswerReaders } from '../../../services/collector/read/answer-readers.ts'
import { createReplica } from '../../../services/collector/store/replica.ts'
import { start } from '../../../services/collector/start.ts'
import type { Collector } from '../../../services/collector/start.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { startWithStandby } from '../../support/standby.ts'
import type { ServerWithStandby } from '../../support/standby.ts'
import { until } from '../../support/until.ts'
import { bearer, clockAt, environment, postTo, readMetric, silent } from './support/harness.ts'
import { requestOf, spanOf, toProtobuf } from './support/otlp.ts'

let servers: ServerWithStandby
let primary: Database
let standby: Database
let collector: Collector
/** By which PostgreSQL's clock is ahead, as far as the collector knows. */
let aheadMs = 0

const options = { log: silent, drainMs: 0, clock: clockAt(() => Date.now() + aheadMs) }

const variables = (readUrl = servers.standby.url) => ({
  ...environment(servers.primary.url),
  COLLECTOR_READ_DATABASE_URL: readUrl,
})

beforeAll(async () => {
  servers = await startWithStandby()
  primary = connectDatabase(parseAddress(servers.primary.url), { name: 'test', max: 1 })
  standby = connectDatabase(parseAddress(servers.standby.url), { name: 'test', max: 1 })
  collector = await start(variables(), options)
  await collector.ready
  await untilReplicaIs('up')
})

afterAll(async () => {
  await collector.stop()
  await Promise.all([primary.end(), standby.end()])
  await servers.close()
})

interface Health {
  readonly status: string
  readonly replica: string
  readonly replica_lag_ms: number | null
}

const readHealth = async ({ url } = collector): Promise<Health> =>
  (await fetch(`${url}/health`)).json() as Promise<Health>

const untilReplicaIs = (state: string): Promise<void> =>
  until(async () => (await readHealth()).replica === state)

interface Answer {
  readonly status: number
  readonly lagMs: number
}

async function read(traceId: string, { url } = collector): Promise<Answer> {
  const response = await fetch(`${url}/api/traces/${traceId}?view=summary`, {
    headers: { authorization: await bearer() },
  })
  await response.arrayBuffer()
  return { status: response.status, lagMs: Number(response.headers.get('trace-lag-ms') ?? NaN) }
}

/** Stores a span; returns its trace. */
async function send(): Promise<string> {
  const span = spanOf()
  const response = await postTo(collector.url, toProtobuf(requestOf(span)))
  expect(response.status).toBe(200)
  return span.traceId ?? ''
}

/** Keeps what is committed from the readers of the replica, while the work runs. */
async function whilePaused(work: () => Promise<void>): Promise<void> {
  await standby`select pg_wal_replay_pause()`
  try {
    await expect
      .poll(
        async () => (await standby`select pg_get_wal_replay_pause_state() as state`)[0]?.['state'],
      )
      .toBe('paused')
    await work()
  } finally {
    await standby`select pg_wal_replay_resume()`
  }
}

describe('reading from a replica', () => {
  it('says how far the replica may be behind, and so of a missing span', async () => {
    let traceId = ''
    await whilePaused(async () => {
      traceId = await send()
      const acknowledged = Date.now()
      // The lag is told as of the beginning of the answer.
      const { status, lagMs } = await read(traceId)
      expect(status).toBe(404)
      const again = await read(traceId)
      expect(again.status).toBe(404)
      expect(again.lagMs).toBeGreaterThan(lagMs)
      const asked = Date.now()
      expect((await read(traceId)).lagMs).toBeGreaterThanOrEqual(asked - acknowledged)
      expect(await primary`select from spans where trace_id = ${traceId}::text::uuid`).toHaveLength(
        1,
      )
    })
    await expect.poll(async () => (await read(traceId)).status).toBe(200)
  })

  it('never misses a span that was acknowledged before the lag that it tells', async () => {
    for (let i = 0; i < 20; i++) {
      const traceId = await send()
      const acknowledged = Date.now()
      for (;;) {
        const asked = Date.now()
        const { status, lagMs } = await read(traceId)
        if (status === 200) break
        expect(status).toBe(404)
        expect(lagMs).toBeGreaterThanOrEqual(asked - acknowledged)
      }
    }
  })

  it('tells the lag in the health check and as a metric', async () => {
    const health = await readHealth()
    expect(health).toMatchObject({ status: 'ok', replica: 'up' })
    expect(health.replica_lag_ms).toBeGreaterThanOrEqual(0)
    expect(await readMetric(collector.metricsUrl, 'collector_replica', { state: 'up' })).toBe(1)
    expect(await readMetric(collector.metricsUrl, 'collector_replica', { state: 'down' })).toBe(0)
    expect(
      await readMetric(collector.metricsUrl, 'collector_replica_lag_seconds'),
    ).toBeGreaterThanOrEqual(0)
  })

  it('reads from the primary when the replica is more than a minute behind', async () => {
    aheadMs = 61_000
    await untilReplicaIs('behind')
    await whilePaused(async () => {
      expect(await read(await send())).toEqual({ status: 200, lagMs: 0 })
    })
    aheadMs = 0
    await untilReplicaIs('up')
  })

  it('reads from the primary while the replica is down, and goes back to it', async () => {
    await servers.standby.stop()
    // Nothing has noticed yet; the answer comes all the same.
    const traceId = await send()
    expect(await read(traceId)).toEqual({ status: 200, lagMs: 0 })
    await untilReplicaIs('down')
    expect(await read(traceId)).toEqual({ status: 200, lagMs: 0 })
    expect((await readHealth()).status).toBe('ok')
    await servers.standby.start()
    await untilReplicaIs('up')
    await expect.poll(async () => (await read(traceId)).status).toBe(200)
  })

  it('asks the primary what the replica cancels, as when a day is dropped there', async () => {
    const replica = createReplica(parseAddress(servers.standby.url), { ...options })
    replica.noteBeat(Date.now())
    const readers = openAnswerReaders(parseAddress(servers.primary.url), { replica, log: silent })
    const reader = readers.for(undefined)
    await primary`create table dropped_under_a_reader (id int)`
    await expect
      .poll(
        async () => (await standby`select to_regclass('dropped_under_a_reader') as it`)[0]?.['it'],
      )
      .not.toBeNull()
    const asked: boolean[] = []
    const answer = reader.ask(async (sql) => {
      const [server] = await sql`select pg_is_in_recovery() as is_replica`
      asked.push(server?.['isReplica'] === true)
      if (asked.length === 1)
        await sql`select pg_sleep(60), id from dropped_under_a_reader
        right join (values (1)) as one (n) on true`
      return asked.length
    })
    await expect
      .poll(
        async () =>
          await standby`
        select from pg_stat_activity where application_name = 'collector-read'
          and wait_event = 'PgSleep'`,
      )
      .toHaveLength(1)
    await primary`drop table dropped_under_a_reader`
    expect(await answer).toBe(2)
    expect(asked).toEqual([true, false])
    expect(reader.lagMs()).toBe(0)
    await readers.close()
  })

  it('reads from the primary while the replica has no tables', async () => {
    await primary`create database without_tables`
    const readUrl = servers.primary.url.replace(/postgres$/, 'without_tables')
    const other = await start(variables(readUrl), options)
    await other.ready
    expect(await read(await send(), other)).toEqual({ status: 200, lagMs: 0 })
    expect(await readHealth(other)).toMatchObject({ replica: 'down', replica_lag_ms: null })
    await other.stop()
  })

  it('still reads from the replica while the primary is down', async () => {
    const traceId = await send()
    await expect
      .poll(async () => await standby`select from spans where trace_id = ${traceId}::text::uuid`)
      .toHaveLength(1)
    await servers.primary.stop()
    const { status, lagMs } = await read(traceId)
    expect(status).toBe(200)
    expect(lagMs).toBeGreaterThanOrEqual(0)
    // As far behind as it may be: there is no other server.
    aheadMs = 61_000
    const later = await read(traceId)
    expect(later.status).toBe(200)
    expect(later.lagMs).toBeGreaterThanOrEqual(61_000)
    aheadMs = 0
    await servers.primary.start()
  })
})

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createDropGuard } from '../../../services/collector/store/spans/drop-guard.ts'
import { distribute } from '../../../services/collector/store/spans/distribution.ts'
import { dayOf, partitionName } from '../../../services/collector/store/spans/partitions.ts'
import { dropExpired, partitionSizes } from '../../../services/collector/store/spans/retention.ts'
import { openTurns, takeTurn } from '../../../services/collector/store/roll-ups/roll-up-turn.ts'
import { start } from '../../../services/collector/start.ts'
import type { Collector } from '../../../services/collector/start.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { citusUrl, cloneCitusDatabase, createCitusDatabase } from '../../support/citus.ts'
import type { CitusDatabase } from '../../support/citus.ts'
import { until } from '../../support/until.ts'
import {
  bearer,
  bearerAt,
  clockAt,
  environment,
  postTo,
  readMetric,
  silent,
} from './support/harness.ts'
import { requestOf, spanOf, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'
import { authorizationOf } from './support/tokens.ts'

if (citusUrl === undefined)
  console.warn('nothing was tested on Citus: set CITUS_DATABASE_URL (test/citus/README.md)')

const DAY_MS = 86_400_000
/** A row for each worker on which a writer waits for another transaction. */
const WAITING = `
  select from run_command_on_workers($$
    select count(*) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' $$)
  where result <> '0'`

describe.skipIf(citusUrl === undefined)('a trace database on Citus', () => {
  let database: CitusDatabase
  let sql: Database
  let collector: Collector
  let throughWorker: Collector
  let now = Date.now()

  beforeAll(async () => {
    database = await cloneCitusDatabase(citusUrl ?? '', inject('citusTemplateUrl'))
    const options = { log: silent, drainMs: 0, clock: clockAt(() => now) }
    collector = await start({ ...environment(database.url), COLLECTOR_DISTRIBUTE: 'true' }, options)
    await collector.ready
    throughWorker = await start(
      {
        ...environment(database.workerUrls[0] ?? ''),
        COLLECTOR_DDL_DATABASE_URL: database.url,
      },
      options,
    )
    await throughWorker.ready
    sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
  })

  afterAll(async () => {
    await Promise.all([collector.stop(), throughWorker.stop()])
    await sql.end()
    await database.drop()
  })

  const at = (ms: number) => ({
    startTimeUnixNano: `${BigInt(ms) * 1_000_000n}`,
    endTimeUnixNano: `${BigInt(ms + 5) * 1_000_000n}`,
  })

  /** Stores spans of as many traces; returns the trace ids. */
  async function send(to: Collector, times: readonly number[]): Promise<string[]> {
    const spans = times.map((time) => spanOf(at(time)))
    const response = await postTo(to.url, toProtobuf(requestOf(...spans)), {
      authorization: await bearerAt(now),
    })
    expect(response.status).toBe(200)
    return spans.map(({ traceId = '' }) => traceId)
  }

  const stored = async (traceIds: readonly string[]): Promise<number> =>
    (await sql`select from spans where trace_id = any (${[...traceIds]}::text[]::uuid[])`).length

  const rolledUp = async (traceIds: readonly string[]): Promise<number> =>
    (await sql`select from traces where trace_id = any (${[...traceIds]}::text[]::uuid[])`).length

  it('has spans on every worker, and none on the coordinator', async () => {
    const traceIds = await send(collector, Array<number>(100).fill(now))
    expect(await stored(traceIds)).toBe(100)
    const nodes = await sql<{ port: number; spans: string }[]>`
      select nodeport as port, result as spans from run_command_on_shards('spans', $$
        select count(*) from %s $$) as counted
      join pg_dist_placement using (shardid) join pg_dist_node using (groupid)`
    const counts = new Map<number, number>()
    for (const { port, spans } of nodes) counts.set(port, (counts.get(port) ?? 0) + Number(spans))
    expect(counts.size).toBe(2)
    for (const count of counts.values()) expect(count).toBeGreaterThan(0)
  })

  it('may be distributed again, which changes nothing', async () => {
    const before = await sql`select * from pg_dist_partition order by logicalrelid`
    await distribute(sql, silent)
    expect(await sql`select * from pg_dist_partition order by logicalrelid`).toEqual(before)
  })

  it('knows the bytes of a day on all nodes', async () => {
    const name = partitionName(dayOf(now))
    const day = (await partitionSizes(sql)).find((one) => one.name === name)
    const [shell] = await sql`select pg_total_relation_size(${name}::text::regclass)::int as bytes`
    expect(day?.bytes).toBeGreaterThan(Number(shell?.['bytes']))
  })

  it('takes spans through a worker, new days and rejected rows too', async () => {
    const missing = now - 6 * DAY_MS
    const traceIds = await send(throughWorker, [now, missing])
    expect(await stored(traceIds)).toBe(2)
    const [traceId = ''] = traceIds
    const response = await fetch(`${throughWorker.url}/api/traces/${traceId}?view=summary`, {
      headers: { authorization: await bearer() },
    })
    expect(response.status).toBe(200)
    await until(async () => (await sql`select from touched_traces`).length === 0)
    expect(await rolledUp(traceIds)).toBe(2)
    const worker = connectDatabase(parseAddress(database.workerUrls[1] ?? ''), { name: 'test' })
    await worker`
      insert into span_rejects (sqlstate, reason, row_bytes) values ('22000', 'test', '')`
    await worker.end()
    expect(await sql`select from span_rejects where reason = 'test'`).toHaveLength(1)
  })

  it('stores nothing of an erased trace, also through a worker', async () => {
    const [erased, other] = [spanOf(at(now)), spanOf(at(now))]
    const post = (to: Collector, ...spans: OtlpSpan[]): Promise<Response> =>
      postTo(to.url, toProtobuf(requestOf(...spans)))
    await post(throughWorker, erased)
    const traceId = erased.traceId ?? ''
    const headers = { authorization: await authorizationOf({ scopes: ['traces:delete'] }) }
    const options = { method: 'DELETE', headers }
    const response = await fetch(`${throughWorker.url}/api/traces/${traceId}`, options)
    expect(response.status).toBe(200)
    for (const to of [throughWorker, collector]) await post(to, erased, other)
    expect(await stored([traceId, other.traceId ?? ''])).toBe(1)
    expect(await stored([traceId])).toBe(0)
  })

  it('repeats a commit that waits in a circle with another one, and loses nothing', async () => {
    const spans = Array.from({ length: 20 }, () => spanOf(at(now)))
    const traceIds = spans.map(({ traceId = '' }) => traceId)
    const post = () => postTo(collector.url, toProtobuf(requestOf(...spans)))
    const retries = () =>
      readMetric(collector.metricsUrl, 'collector_flush_retries_total', { sqlstate_class: '40' })
    expect((await post()).status).toBe(200)
    const before = await retries()
    const other = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
    await other`begin`
    const [first = '', ...others] = traceIds
    await other`delete from spans where trace_id = ${first}::text::uuid`
    const again = post()
    await until(async () => (await sql.unsafe(WAITING)).length > 0)
    // It holds some of them.
    for (const id of others) await other`delete from spans where trace_id = ${id}::text::uuid`
    await other`rollback`
    await other.end()
    expect((await again).status).toBe(200)
    expect(await stored(traceIds)).toBe(20)
    expect((await retries()) - before).toBe(1)
  })

  it('has a replica identity in each day, so that spans may change while shards move', async () => {
    await send(collector, [now - 3 * DAY_MS])
    const kinds = await sql<{ result: string }[]>`
      select distinct result from run_command_on_workers($$
        select string_agg(distinct relreplident::text, '') from pg_class
        where relname like 'spans\_2%' and relkind = 'r' $$)`
    expect(kinds).toEqual([{ result: 'f' }])
  })

  it('keeps an expired day while a reader is in it, and drops it at the next run', async () => {
    now += 20 * DAY_MS
    const clock = clockAt(() => now)
    const options = { address: parseAddress(database.url), log: silent, clock, weeks: 1 }
    const retention = async () => {
      const guard = createDropGuard({ clock, log: silent })
      return (await dropExpired({ ...options, guard }))?.dropped ?? []
    }
    const reader = connectDatabase(parseAddress(database.url), { name: 'reader', max: 1 })
    await reader.begin(async (tx) => {
      await tx`select count(*) from spans`
      expect(await retention()).toEqual([])
    })
    await reader.end()
    expect((await retention()).length).toBeGreaterThan(3)
    await send(collector, [now])
  })

  it('rolls nothing up while a commit has not reached all nodes', async () => {
    const [url = ''] = database.workerUrls
    const worker = connectDatabase(parseAddress(url), { name: 'test', max: 1 })
    const traceIds = await whileCommitting(worker, async () => {
      const sent = await send(collector, [now])
      const session = await openTurns(parseAddress(database.url), [])
      const turn = async (): Promise<void> => {
        while (!(await takeTurn(session)).isLeader);
      }
      await expect(turn()).rejects.toThrow('have not reached all nodes')
      expect(await rolledUp(sent)).toBe(0)
      session.close()
      return sent
    })
    await until(async () => (await rolledUp(traceIds)) === 1)
    await worker.end()
  })
})

describe.skipIf(citusUrl === undefined)('a trace database that comes to Citus with spans', () => {
  it('has them spread while a collector writes, and keeps what was erased away', async () => {
    const database = await createCitusDatabase(citusUrl ?? '')
    const options = { log: silent, drainMs: 0 }
    const before = await start(environment(database.url), options)
    await before.ready
    const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
    const post = async (to: Collector, ...spans: OtlpSpan[]): Promise<void> =>
      expect((await postTo(to.url, toProtobuf(requestOf(...spans)))).status).toBe(200)
    const erase = async (to: Collector, { traceId = '' }: OtlpSpan): Promise<void> => {
      const headers = { authorization: await authorizationOf({ scopes: ['traces:delete'] }) }
      const url = `${to.url}/api/traces/${traceId}`
      expect((await fetch(url, { method: 'DELETE', headers })).status).toBe(200)
    }
    const [kept, erased, erasedLater] = [spanOf(), spanOf(), spanOf()]
    await post(before, kept, erased, erasedLater)
    await erase(before, erased)
    const after = await start(
      { ...environment(database.url), COLLECTOR_DISTRIBUTE: 'true' },
      options,
    )
    await after.ready
    await erase(after, erasedLater)
    const both = [erased, erasedLater].map((span) => ({ ...span, name: 'again' }))
    for (const collector of [before, after]) await post(collector, ...both, spanOf())
    const rows = await sql<{ traceId: string }[]>`select trace_id from spans`
    expect(rows.map(({ traceId }) => traceId.replaceAll('-', ''))).toContain(kept.traceId)
    expect(rows).toHaveLength(3)
    await until(async () => (await sql`select from touched_traces`).length === 0)
    expect(await sql`select from traces`).toHaveLength(3)
    await Promise.all([before.stop(), after.stop()])
    await sql.end()
    await database.drop()
  })
})

/** Has a transaction prepared on a node, as in the middle of a commit of Citus, during the work. */
async function whileCommitting<Result>(
  worker: Database,
  work: () => Promise<Result>,
): Promise<Result> {
  await worker`set citus.enable_ddl_propagation = off`
  await worker`begin`
  await worker`create table of_a_commit ()`
  await worker`prepare transaction 'citus_test'`
  try {
    return await work()
  } finally {
    await worker`rollback prepared 'citus_test'`
  }
}

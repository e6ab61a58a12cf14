import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createPartitions,
  partitionName,
  dayOf,
} from '../../../services/collector/store/spans/partitions.ts'
import { openCopyConnection } from '../../../services/shared/postgres/copy/copy-connection.ts'
import { createDropGuard } from '../../../services/collector/store/spans/drop-guard.ts'
import { dropExpired } from '../../../services/collector/store/spans/retention.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { bearerAt, clockAt, createHarness, readMetric, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { nanos, requestOf, spanOf, toProtobuf } from './support/otlp.ts'
import { citusUrl } from '../../support/citus.ts'

const DAY_MS = 86_400_000
const name = (ms: number): string => partitionName(dayOf(ms))

describe('partitions and retention (SPEC 2.6, 8)', () => {
  let now = Date.UTC(2026, 5, 15, 12)
  const clock = clockAt(() => now)
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness({}, { now: () => now, clock })
  })
  afterAll(() => harness.stop())

  const partitions = async (): Promise<string[]> => {
    const rows = await harness.sql`
      select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = 'spans'::regclass order by relname`
    return rows.map(({ relname }) => String(relname))
  }
  const send = async (ms: number): Promise<Response> => {
    const times = { startTimeUnixNano: nanos(ms), endTimeUnixNano: nanos(ms + 1) }
    const authorization = await bearerAt(now)
    return harness.post(toProtobuf(requestOf(spanOf(times))), { authorization })
  }
  const count = async (): Promise<number> => (await harness.sql`select from spans`).length
  const lookForExpired = () =>
    dropExpired({
      address: parseAddress(harness.databaseUrl),
      log: silent,
      clock,
      weeks: 1,
      guard: createDropGuard({ clock, log: silent }),
    })

  /** Looks until all is gone: on Citus a day that is being read goes at a later look. */
  async function retention(): Promise<string[]> {
    const dropped: string[] = []
    const look = async () => {
      const retained = await lookForExpired()
      dropped.push(...(retained?.dropped ?? []))
      return retained?.heldBack
    }
    await expect.poll(look).toBe(0)
    return dropped.toSorted()
  }

  it('creates the partitions of the days around today at start', async () => {
    expect(await partitions()).toEqual([-1, 0, 1, 2, 3].map((day) => name(now + day * DAY_MS)))
  })

  it('creates the partition of a late span when it comes, in two collectors at once', async () => {
    const late = now - 5 * DAY_MS
    const other = await harness.another()
    const answers = await Promise.all([send(late), send(late), send(late + 1)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await partitions()).toContain(name(late))
    await other.stop()
  })

  it('refuses spans from before the retention and from after tomorrow', async () => {
    const before = await count()
    for (const ms of [now - 7 * DAY_MS - 1000, now + DAY_MS + 1000]) {
      expect(await (await send(ms)).text()).not.toBe('')
    }
    expect(await count()).toBe(before)
    for (const ms of [now - 7 * DAY_MS + 1000, now + DAY_MS - 1000]) {
      expect(await (await send(ms)).text()).toBe('')
    }
    expect(await count()).toBe(before + 2)
    expect(
      await harness.metric('collector_spans_rejected_total', { reason: 'too_far_in_future' }),
    ).toBe(1)
  })

  it('drops whole days within a day of their end, and only those', async () => {
    await send(now)
    const kept = await partitions()
    expect(await retention()).toEqual([])
    now += 4 * DAY_MS
    expect(await retention()).toEqual([name(now - 11 * DAY_MS), name(now - 9 * DAY_MS)])
    expect(await partitions()).toEqual(kept.slice(2))
    now += 20 * DAY_MS
    await retention()
    expect(await count()).toBe(0)
    expect(await partitions()).toEqual([])
    const rows = await harness.sql`select from pg_class where relname like 'spans\\_2026%'`
    expect(rows.length).toBe(0)
  })

  it.skipIf(citusUrl)('keeps of an expired day what a hold keeps, and nothing else', async () => {
    for (let nr = 0; nr < 2; nr++) await send(now)
    const [kept] = await harness.sql<{ traceId: string; organization: string }[]>`
      select trace_id, organization from spans limit 1`
    const id = '00000000-0000-4000-8000-000000000001'
    await harness.sql`
      insert into held_traces (hold_id, organization, trace_id)
      values (${id}, ${kept?.organization ?? ''}, ${kept?.traceId ?? ''})`
    now += 20 * DAY_MS
    expect(await retention()).toEqual([])
    expect(await harness.sql`select trace_id from spans`).toEqual([{ traceId: kept?.traceId }])
    expect(await harness.sql`select from resources`).not.toEqual([])
    expect((await lookForExpired())?.dropped).toEqual([])
    await harness.sql`delete from held_traces`
    expect(await retention()).toHaveLength(1)
    expect(await count()).toBe(0)
  })

  it('creates partitions again that were dropped behind its back', async () => {
    expect(await (await send(now)).text()).toBe('')
    expect(await partitions()).toEqual([name(now)])
  })

  it('takes a detached day back with its rows when a span of that day comes', async () => {
    const before = await count()
    await harness.sql.unsafe(`alter table spans detach partition ${name(now)}`)
    expect(await count()).toBe(0)
    expect(await (await send(now)).text()).toBe('')
    expect(await count()).toBe(before + 1)
  })

  it('forgets resources and scopes that no span can need any more', async () => {
    expect((await harness.sql`select from resources`).length).toBe(1)
    now += 20 * DAY_MS
    await retention()
    expect((await harness.sql`select from resources`).length).toBe(0)
    expect((await harness.sql`select from scopes`).length).toBe(0)
    await send(now)
    expect((await harness.sql`select from resources`).length).toBe(1)
  })

  it.skipIf(citusUrl)('finishes what an interrupted run has left', async () => {
    const detached = name(now)
    await harness.sql.unsafe(`alter table spans detach partition ${detached} concurrently`)
    now += 20 * DAY_MS
    expect(await retention()).toEqual([detached])
    expect(await partitions()).toEqual([])
  })

  it.skipIf(citusUrl)('lets spans arrive while a reader holds an expired day', async () => {
    await send(now)
    now += 20 * DAY_MS
    const session = await openCopyConnection(parseAddress(harness.databaseUrl), { name: 'test' })
    await createPartitions({ log: silent, now: () => now }).ensureAhead(session)
    session.close()
    const reader = connectDatabase(parseAddress(harness.databaseUrl), { name: 'reader', max: 1 })
    let dropping: Promise<unknown> | undefined
    await reader.begin(async (tx) => {
      await tx`select count(*) from spans`
      dropping = retention()
      const waiting = async () =>
        (
          await harness.sql`
            select from pg_stat_activity
            where query like 'alter table spans detach%' and wait_event_type = 'Lock'
              and datname = current_database()`
        ).length
      await expect.poll(waiting).toBe(1)
      expect((await send(now)).status).toBe(200)
      const late = now - 4 * DAY_MS
      expect(await partitions()).not.toContain(name(late))
      expect((await send(late)).status).toBe(200)
    })
    expect(await dropping).toHaveLength(1)
    await reader.end()
  })

  it('does nothing while another collector is at it', async () => {
    const other = connectDatabase(parseAddress(harness.databaseUrl), { name: 'other', max: 1 })
    await other.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(7310452119)`
      expect(await lookForExpired()).toBeUndefined()
    })
    await other.end()
  })

  it('shows the size of each day', async () => {
    const other = await harness.another()
    expect(await readMetric(other.metricsUrl, 'collector_partitions')).toBeGreaterThan(3)
    expect(await readMetric(other.metricsUrl, 'collector_partition_bytes')).toBeGreaterThan(0)
    await other.stop()
  })
})

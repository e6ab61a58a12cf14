import type { Database } from '../../../shared/postgres/database.ts'
import { fillDays, projectKept } from '../../../shared/growth.ts'
import { sqlState } from '../../../shared/postgres/failures.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import type { Log } from '../../../shared/log.ts'
import type { Clock } from '../clock.ts'
import type { DropGuard } from './drop-guard.ts'
import { hasOnlyHeld, keepHeld } from '../erasures/held-traces.ts'
import { forgetArchivedDays, listArchivedDays } from '../archive/archived-days.ts'
import { isDistributed } from './distribution.ts'
import { dayOf, partitionDay, startOfDay, withDropLock } from './partitions.ts'
import type { Day } from './partitions.ts'

const WEEK_MS = 7 * 86_400_000
/** A resource may be named by a span from the future, or by one that is still queued. */
const IDENTITY_GRACE_DAYS = 3

interface DropOptions {
  readonly address: DatabaseAddress
  readonly log: Log
  readonly clock: Clock
}

interface RetentionOptions extends DropOptions {
  readonly weeks: number
  readonly guard: DropGuard
}

/** The outcome of a look at the expired days. */
interface Retained {
  /** Names of the dropped partitions. */
  readonly dropped: string[]
  /** Expired days that the guard kept. */
  readonly heldBack: number
}

/** Before this nothing is kept; milliseconds since 1970. */
export const retentionCutoff = (now: number, weeks: number): number => now - weeks * WEEK_MS

/**
 * Drops the days whose every span has expired by PostgreSQL's clock, as far as the guard lets them
 * go, and what only they needed (SPEC 2.6, 8). Undefined when another replica is at it.
 */
export async function dropExpired(options: RetentionOptions): Promise<Retained | undefined> {
  const { address, log, clock, weeks, guard } = options
  const oldestDay = dayOf(retentionCutoff(clock.now(), weeks))
  return withDropLock(address, async (session) => {
    const expired: Partition[] = []
    for (const partition of await listPartitions(session)) {
      if (partition.day >= oldestDay || (await hasOnlyHeld(session, partition.name))) continue
      expired.push(partition)
    }
    let kept = 0
    const dropped: string[] = []
    for (const partition of guard(expired)) {
      if (await keepHeld(session, partition.name)) {
        kept += 1
        log.info({ partition: partition.name }, 'a hold keeps traces of an expired day')
        continue
      }
      if (!(await dropPartition(session, partition, log))) continue
      dropped.push(partition.name)
      log.info({ partition: partition.name }, 'expired partition dropped')
    }
    await dropTexts(session)
    await forgetArchivedDays(session)
    const heldBack = expired.length - dropped.length - kept
    if (heldBack === 0 && !clock.isSkewed()) await dropLeftovers(session, oldestDay)
    return { dropped, heldBack }
  })
}

interface SpaceOptions extends DropOptions {
  readonly maxBytes: number
}

/**
 * Drops the oldest days, but never today, until the others have `maxBytes` at the most; none while
 * it is not sure which day is today. Returns the names of the dropped partitions; undefined when
 * another replica is at it.
 */
export async function dropOldest(options: SpaceOptions): Promise<string[] | undefined> {
  const { address, log, clock, maxBytes } = options
  if (clock.isSkewed()) return []
  const today = dayOf(clock.now())
  return withDropLock(address, async (session) => {
    const dropped: string[] = []
    const sizes = new Map((await partitionSizes(session)).map(({ name, bytes }) => [name, bytes]))
    const rollUpBytes = await rollUpSize(session)
    let total = sumOf([...sizes.values()])
    const archived = new Set(await listArchivedDays(session))
    for (const partition of await listPartitions(session)) {
      if (archived.has(startOfDay(partition.day).slice(0, 10))) continue
      if (storedBytes(total, rollUpBytes) <= maxBytes || partition.day >= today) break
      if (await keepHeld(session, partition.name)) continue
      const isShared = await emptyShared(session, partition)
      if (!isShared && !(await dropPartition(session, partition, log))) break
      dropped.push(partition.name)
      total -= sizes.get(partition.name) ?? 0
      log.warn(
        { partition: partition.name },
        'the storage is full; the oldest day is dropped early',
      )
    }
    await dropTexts(session)
    return dropped
  })
}

/** The sum of the numbers. */
export const sumOf = (numbers: readonly number[]): number =>
  numbers.reduce((sum, one) => sum + one, 0)

interface Partition {
  readonly name: string
  readonly day: Day
  /**
   * `attached`; `pending` when a detachment was interrupted; `detached` when only the drop is
   * missing.
   */
  readonly state: string
}

/** The days of a table, the oldest first, whether attached or not. */
export async function listPartitions(sql: Database, table = 'spans'): Promise<Partition[]> {
  const rows = await sql<{ name: string; state: string }[]>`
    select c.relname as name,
      case when i.inhrelid is null then 'detached'
        when i.inhdetachpending then 'pending'
        else 'attached' end as state
    from pg_class c
    left join pg_inherits i on i.inhrelid = c.oid and i.inhparent = ${table}::regclass
    where c.relnamespace = (select relnamespace from pg_class where oid = 'spans'::regclass)
      and c.relkind = 'r' and c.relname like ${`${table}\\_%`}
    order by c.relname`
  return rows.flatMap(({ name, state }) => {
    const day = partitionDay(name, table)
    return day === undefined ? [] : [{ name, state, day }]
  })
}

/** Detaching concurrently lets spans arrive and readers read all the while. */
async function detachAndDrop(
  sql: Database,
  { name, state }: Partition,
  table: string,
): Promise<void> {
  if (state === 'attached')
    await sql.unsafe(`alter table ${table} detach partition ${name} concurrently`)
  if (state === 'pending')
    await sql.unsafe(`alter table ${table} detach partition ${name} finalize`)
  await sql.unsafe(`drop table if exists ${name}`)
}

/** False when the day is in use and has to be dropped at the next run. */
async function dropPartition(sql: Database, partition: Partition, log: Log): Promise<boolean> {
  if (await isDistributed(sql)) return dropDistributed(sql, partition, log)
  await detachAndDrop(sql, partition, 'spans')
  return true
}

/** Empties a day of which organizations have files already, which need its partition. */
async function emptyShared(sql: Database, { name, day }: Partition): Promise<boolean> {
  const date = startOfDay(day).slice(0, 10)
  const parts = await sql`
    select from archived_parts where day = ${date}::text::date and state = 'dropped' limit 1`
  if (parts.length === 0) return false
  await sql.begin(async (tx) => {
    await tx`set local lock_timeout = '2s'`
    await tx.unsafe(`truncate ${name}`)
    await tx`delete from restored_traces where day = ${date}::text::date`
  })
  return true
}

/** A lock that was not to be had in time, and a circle of waits over several nodes. */
const IN_USE = new Set(['55P03', '40P01'])

/**
 * Citus does not detach concurrently: dropping waits for the readers of all days, and others wait
 * behind it, so it gives up soon. The settings reach the other nodes.
 */
async function dropDistributed(sql: Database, { name }: Partition, log: Log): Promise<boolean> {
  try {
    await sql.begin(async (tx) => {
      await tx`set local citus.propagate_set_commands = 'local'`
      await tx`set local lock_timeout = '2s'`
      await tx.unsafe(`drop table if exists ${name}`)
    })
    return true
  } catch (thrown) {
    if (!IN_USE.has(sqlState(thrown) ?? '')) throw thrown
    log.warn({ partition: name }, 'the day is being read; it is dropped at the next run')
    return false
  }
}

/** Drops what the search has of days whose spans are gone. */
async function dropTexts(sql: Database): Promise<void> {
  const kept = new Set((await listPartitions(sql)).map(({ day }) => day))
  for (const table of ['text_signatures', 'span_texts']) {
    for (const partition of await listPartitions(sql, table)) {
      if (!kept.has(partition.day)) await detachAndDrop(sql, partition, table)
    }
  }
}

/** Deletes what no span of a kept day needs: of one organization, or of all. */
export async function dropLeftovers(
  sql: Database,
  oldestDay: Day,
  organization?: string,
): Promise<void> {
  const before = startOfDay(oldestDay - IDENTITY_GRACE_DAYS)
  const owned = organization === undefined ? sql`` : sql`and organization = ${organization}`
  // By themselves: Citus deletes no rows of a table that each node has by what others have.
  const held = await sql<{ resourceId: string; scopeId: string }[]>`
    select distinct s.resource_id::text as resource_id, s.scope_id::text as scope_id
    from held_traces h join spans s using (organization, trace_id)`
  await sql`
    delete from resources where last_seen < ${before}::timestamptz::date ${owned}
      and id <> all(${held.map(({ resourceId }) => resourceId)}::int8[])`
  await sql`
    delete from scopes where last_seen < ${before}::timestamptz::date ${owned}
      and id <> all(${held.map(({ scopeId }) => scopeId)}::int8[])`
  await sql`delete from span_rejects where received_at < ${before}::timestamptz ${owned}`
}

/** Bytes of each attached partition with its indexes, for the metrics. */
export async function partitionSizes(sql: Database): Promise<{ name: string; bytes: number }[]> {
  return sql<{ name: string; bytes: number }[]>`
    select name, bytes::float8 as bytes from day_sizes() order by name limit 1000`
}

/** Bytes of the roll-ups and the search, and their notes. */
export async function rollUpSize(sql: Database): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`
    select (pg_total_relation_size('traces') + pg_total_relation_size('usage_hourly')
      + pg_total_relation_size('traces_daily') + pg_total_relation_size('touched_traces')
      + pg_total_relation_size('traces_to_extract') + (
        select coalesce(sum(pg_total_relation_size(inhrelid)), 0)
        from pg_inherits
        where inhparent in ('text_signatures'::regclass, 'span_texts'::regclass)
      ))::float8 as bytes`
  return row?.bytes ?? 0
}

/**
 * The bytes that count for the limit. Roll-ups of dropped days leave space within their files,
 * which serves those of the next days: roll-ups count for as much as the days themselves at the
 * most, or days could be dropped in vain.
 */
export const storedBytes = (dayBytes: number, rollUpBytes: number): number =>
  dayBytes + Math.min(rollUpBytes, dayBytes)

/** A year: what is full later is not worth a word yet. */
const DAYS_AHEAD = 366

interface Fill {
  /** What counts for the limit. */
  readonly total: number
  readonly maxBytes: number
  readonly keptDays: number
  readonly today: Day
}

/**
 * Returns the date on which the days, with their part of the roll-ups, reach their limit at the
 * growth of the last four weeks; null where they do not within a year, or there are too few days.
 */
export function findFullDay(
  sizes: readonly { readonly name: string; readonly bytes: number }[],
  { total, maxBytes, keptDays, today }: Fill,
): string | null {
  const factor = total / Math.max(1, sumOf(sizes.map(({ bytes }) => bytes)))
  const past = sizes.flatMap(({ name, bytes }): [Day, number][] => {
    const day = partitionDay(name)
    return day === undefined || day >= today || day < today - keptDays - 1
      ? []
      : [[day, bytes * factor]]
  })
  const kept = projectKept({ days: fillDays(new Map(past), today), keptDays }, DAYS_AHEAD)
  const ahead = kept?.findIndex((bytes) => bytes > maxBytes) ?? -1
  return ahead < 0 ? null : startOfDay(today + ahead).slice(0, 10)
}

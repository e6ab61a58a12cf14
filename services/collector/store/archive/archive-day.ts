import { setTimeout as delay } from 'node:timers/promises'
import { AppError, toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { openCopyConnection } from '../../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection, Session } from '../../../shared/postgres/copy/copy-connection.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { sqlState } from '../../../shared/postgres/failures.ts'
import { isDistributed } from '../spans/distribution.ts'
import { dayOf, partitionName, startOfDay } from '../spans/partitions.ts'
import type { Day } from '../spans/partitions.ts'
import { listPartitions } from '../spans/retention.ts'
import { dropFiles, listFiles, removeFiles } from './archive-files.ts'
import type { ArchiveParts } from './archive-files.ts'
import { compareRows, countRows, readFiles } from './compare-day.ts'
import type { Compared } from './compare-day.ts'
import { readPartition, writeDay } from './write-day.ts'

/** The parts that archive days. */
interface ArchiveOptions extends ArchiveParts {
  readonly address: DatabaseAddress
  readonly log: Log
}

/** The outcome of a run over all days. */
interface ArchiveOutcome {
  readonly archived: number
  readonly failed: number
}

/** Any number: one program at a time archives days. */
const ARCHIVE_LOCK = 7_310_452_132
const DAY_MS = 86_400_000
/** For a whole day of spans. */
const STATEMENT_MS = 6 * 3_600_000
/** Days after the last span that is taken: some may still be queued, and clocks differ. */
const GRACE_DAYS = 1
/** Tries to empty a partition that is being read, and the pause between them. */
const TRIES = { most: 30, pauseMs: 1000 }
/** A lock that was not to be had in time, and a circle of waits. */
const IN_USE = new Set(['55P03', '40P01'])

/** The date of a day, in ISO 8601. */
export const dateOf = (day: Day): string => startOfDay(day).slice(0, 10)

/**
 * Archives the days that are due, the oldest first, each in its steps from where it stands. Raises
 * `invalid_configuration` where days cannot be archived, and `conflict` while another program does.
 */
export async function archiveDays(options: ArchiveOptions): Promise<ArchiveOutcome> {
  const { sql, address, log } = options
  const hotDays = await readHotDays(sql)
  const session = await openSession(address)
  const outcome = { archived: 0, failed: 0 }
  try {
    const [locked] = await session.rows(`select pg_try_advisory_lock(${ARCHIVE_LOCK})`)
    if (locked?.[0] !== 't') throw new AppError('conflict', 'Another program archives days.')
    for (const day of await listDue(sql, hotDays)) {
      const isArchived = await archiveOrNote(options, session, day)
      outcome[isArchived ? 'archived' : 'failed'] += 1
    }
  } finally {
    session.close()
  }
  await removeFiles(options)
  log.info(outcome, 'days archived')
  await sql`analyze archived_files`
  return outcome
}

const openSession = (address: DatabaseAddress): Promise<CopyConnection> =>
  openCopyConnection(address, { name: 'collector-archive', statementTimeoutMs: STATEMENT_MS })

/** The days that the collectors take spans of, as they have written them down. */
async function readHotDays(sql: Database): Promise<number> {
  if (await isDistributed(sql)) {
    const message =
      'Days whose spans are on the nodes of Citus cannot be archived. Unset COLLECTOR_HOT_DAYS.'
    throw new AppError('invalid_configuration', message)
  }
  const [row] = await sql<{ hotDays: number | null }[]>`select hot_days from retention`
  if (typeof row?.hotDays === 'number') return row.hotDays
  const message = 'No days are archived: start the collector with COLLECTOR_HOT_DAYS first.'
  throw new AppError('invalid_configuration', message)
}

/** The days of which no more spans are taken and all notes are worked off. */
async function listDue(sql: Database, hotDays: number): Promise<Day[]> {
  const [clock] = await sql<{ ms: number }[]>`select extract(epoch from now())::float8 * 1000 as ms`
  const before = dayOf((clock?.ms ?? 0) - hotDays * DAY_MS) - GRACE_DAYS
  const states = await sql<{ day: string; state: string }[]>`
    select day::text, state from archived_days`
  const dropped = new Set(states.flatMap(({ day, state }) => (state === 'dropped' ? [day] : [])))
  const days = (await listPartitions(sql))
    .filter(({ day, state }) => day < before && state === 'attached' && !dropped.has(dateOf(day)))
    .map(({ day }) => day)
  const noted = await sql<{ day: string }[]>`
    select day::text from touched_traces union select day::text from traces_to_extract
    union select day::text from days_to_roll_up`
  const isNoted = new Set(noted.map(({ day }) => day))
  return days.filter((day) => !isNoted.has(dateOf(day)))
}

/** Returns false for a day that could not be archived, of which it notes why. */
async function archiveOrNote(
  options: ArchiveOptions,
  session: CopyConnection,
  day: Day,
): Promise<boolean> {
  const date = dateOf(day)
  try {
    const compared = await archiveDay(options, session, day)
    options.log.info({ day: date, ...compared }, 'day archived')
    return true
  } catch (thrown) {
    const reason = toError(thrown).message
    options.log.error({ day: date, reason }, 'the day is not archived; it stays in the database')
    if (session.isOpen()) await session.query('rollback')
    await options.sql`
      update archived_days set failed_at = now(), failure = ${reason}
      where day = ${date}::text::date`
    return false
  }
}

async function archiveDay(
  options: ArchiveOptions,
  session: CopyConnection,
  day: Day,
): Promise<Compared | undefined> {
  const date = dateOf(day)
  const [found] = await options.sql<{ state: string }[]>`
    select state from archived_days where day = ${date}::text::date`
  let compared: Compared | undefined
  if (found?.state !== 'verified') {
    await beginAnew(options.sql, date)
    await writeDay(options, session, { day, date })
    compared = await verifyDay(options, session, day)
  }
  await dropDay(options.sql, day)
  return compared
}

/** Whatever a run before this one has written is removed. */
async function beginAnew(sql: Database, date: string): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`
      insert into archived_days (day, state) values (${date}::text::date, 'writing')
      on conflict (day) do update set state = 'writing', fingerprint = null, changed_at = now()`
    await dropFiles(tx, date)
  })
}

/**
 * Compares the files of a day with its partition, and once that is emptied with their hashes alone.
 * Raises `conflict` and `unavailable` with what differs.
 */
export async function verifyArchived(
  { sql, store, address }: Omit<ArchiveOptions, 'log'>,
  date: string,
): Promise<Compared> {
  const [found] = await sql<{ state: string }[]>`
    select state from archived_days where day = ${date}::text::date`
  const files = await listFiles(sql, date)
  if (found?.state === 'dropped') return countRows(readFiles(store, files))
  const session = await openSession(address)
  try {
    await session.query('begin isolation level repeatable read read only')
    const day = dayOf(Date.parse(date))
    return await compareRows(readPartition(session, day), readFiles(store, files))
  } finally {
    session.close()
  }
}

/** Changes with each row that is stored, changed or deleted. */
const fingerprintOf = (day: Day): string => `
  select count(*) || ' ' || coalesce(sum(
    hashtextextended(xmin::text || ' ' || span_id || ' ' || trace_id, 0)::numeric), 0) as mark
  from ${partitionName(day)}`

/** The first commit: the files, as the store returns them, have what the partition has. */
async function verifyDay(options: ArchiveOptions, session: Session, day: Day): Promise<Compared> {
  const { sql, store } = options
  const date = dateOf(day)
  await session.query('begin isolation level repeatable read read only')
  const [mark] = await session.rows(fingerprintOf(day))
  const files = await listFiles(sql, date)
  const compared = await compareRows(readPartition(session, day), readFiles(store, files))
  await session.query('commit')
  await sql`
    update archived_days set state = 'verified', fingerprint = ${mark?.[0] ?? ''},
      changed_at = now(), failed_at = null, failure = null
    where day = ${date}::text::date`
  return compared
}

/**
 * The second commit: the partition is emptied, unless it has changed since it was compared; then
 * the day begins anew. Nothing is stored there meanwhile.
 */
async function dropDay(sql: Database, day: Day): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const isDropped = await tryToDrop(sql, day)
      if (isDropped) return
      throw new AppError('conflict', 'Spans of the day have changed meanwhile; it begins anew.')
    } catch (thrown) {
      if (!IN_USE.has(sqlState(thrown) ?? '') || tries === TRIES.most) throw thrown
    }
    await delay(TRIES.pauseMs)
  }
}

const tryToDrop = (sql: Database, day: Day): Promise<boolean> =>
  sql.begin(async (tx) => {
    const date = dateOf(day)
    await tx`set local lock_timeout = '2s'`
    await tx.unsafe(`lock table ${partitionName(day)} in share mode`)
    const [now] = await tx.unsafe<{ mark: string }[]>(fingerprintOf(day))
    const [changed] = await tx`
      update archived_days
      set state = case when fingerprint = ${now?.mark ?? ''} then 'dropped' else 'writing' end,
        changed_at = now()
      where day = ${date}::text::date and state = 'verified' returning state`
    if (changed?.['state'] !== 'dropped') return false
    await tx.unsafe(`truncate ${partitionName(day)}`)
    return true
  })

import { setTimeout as delay } from 'node:timers/promises'
import { AppError, toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { openCopyConnection } from '../../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection, Session } from '../../../shared/postgres/copy/copy-connection.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { sqlState } from '../../../shared/postgres/failures.ts'
import { dayOf } from '../spans/partitions.ts'
import { listFiles, removeFiles } from './archive-files.ts'
import type { ArchiveParts } from './archive-files.ts'
import {
  areVerified,
  beginAnew,
  fingerprintOf,
  noteFailure,
  noteVerified,
  tryToDrop,
} from './archive-state.ts'
import { compareRows, countRows, readFiles } from './compare-day.ts'
import type { Compared } from './compare-day.ts'
import { dateOf, restOf } from './day-rows.ts'
import type { DayRows } from './day-rows.ts'
import { listDue } from './due-rows.ts'
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
/** For a whole day of spans. */
const STATEMENT_MS = 6 * 3_600_000
/** Tries to empty a partition that is being read, and the pause between them. */
const TRIES = { most: 30, pauseMs: 1000 }
/** A lock that was not to be had in time, and a circle of waits. */
const IN_USE = new Set(['55P03', '40P01'])

/**
 * Archives the days, and parts of days, that are due, the oldest first, each in its steps from
 * where it stands. Raises `invalid_configuration` where days cannot be archived, and `conflict`
 * while another program does.
 */
export async function archiveDays(options: ArchiveOptions): Promise<ArchiveOutcome> {
  const { sql, address, log } = options
  const session = await openSession(address)
  const outcome = { archived: 0, failed: 0 }
  try {
    const [locked] = await session.rows(`select pg_try_advisory_lock(${ARCHIVE_LOCK})`)
    if (locked?.[0] !== 't') throw new AppError('conflict', 'Another program archives days.')
    for (const rows of await listDue(sql)) {
      const isArchived = await archiveOrNote(options, session, rows)
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

/** Returns false for a day that could not be archived, of which it notes why. */
async function archiveOrNote(
  options: ArchiveOptions,
  session: CopyConnection,
  rows: DayRows,
): Promise<boolean> {
  const { day, isRest, organizations } = rows
  const facts = { day: dateOf(day), ...(isRest ? {} : { organizations }) }
  try {
    const compared = await archiveRows(options, session, rows)
    options.log.info({ ...facts, ...compared }, 'day archived')
    return true
  } catch (thrown) {
    const reason = toError(thrown).message
    options.log.error({ ...facts, reason }, 'the day is not archived; it stays in the database')
    if (session.isOpen()) await session.query('rollback')
    await noteFailure(options.sql, rows, reason)
    return false
  }
}

async function archiveRows(
  options: ArchiveOptions,
  session: CopyConnection,
  rows: DayRows,
): Promise<Compared | undefined> {
  const { sql } = options
  let compared: Compared | undefined
  if (!(await areVerified(sql, rows))) {
    await beginAnew(sql, rows)
    await writeDay(options, session, rows)
    compared = await verifyRows(options, session, rows)
  }
  await dropRows(sql, rows)
  return compared
}

/**
 * Compares the files of a day with its partition, and of what is not there any more with their
 * hashes alone. Raises `conflict` and `unavailable` with what differs.
 */
export async function verifyArchived(
  { sql, store, address }: Omit<ArchiveOptions, 'log'>,
  date: string,
): Promise<Compared> {
  const cold = await countRows(readFiles(store, await listFiles(sql, date, 'cold')))
  const [found] = await sql<{ state: string }[]>`
    select state from archived_days where day = ${date}::text::date`
  if (!found || found.state === 'dropped') return cold
  const rows = await restOf(sql, dayOf(Date.parse(date)))
  const session = await openSession(address)
  try {
    await session.query('begin isolation level repeatable read read only')
    const files = await listFiles(sql, date, 'written')
    const rest = await compareRows(readPartition(session, rows), readFiles(store, files))
    return { traces: cold.traces + rest.traces, spans: cold.spans + rest.spans }
  } finally {
    session.close()
  }
}

/** Compares files, as the store returns them, with what the partition has. */
async function verifyRows(
  { sql, store }: ArchiveOptions,
  session: Session,
  rows: DayRows,
): Promise<Compared> {
  await session.query('begin isolation level repeatable read read only')
  const [mark] = await session.rows(fingerprintOf(rows))
  const written = await listFiles(sql, dateOf(rows.day), 'written')
  const files = written.filter(
    ({ organization }) => rows.isRest || rows.organizations.includes(organization),
  )
  const compared = await compareRows(readPartition(session, rows), readFiles(store, files))
  await session.query('commit')
  await noteVerified(sql, rows, mark?.[0] ?? '')
  return compared
}

/** Tries for a while: the partition may be being read. */
async function dropRows(sql: Database, rows: DayRows): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const isDropped = await tryToDrop(sql, rows)
      if (isDropped) return
      throw new AppError('conflict', 'Spans of the day have changed meanwhile; it begins anew.')
    } catch (thrown) {
      if (!IN_USE.has(sqlState(thrown) ?? '') || tries === TRIES.most) throw thrown
    }
    await delay(TRIES.pauseMs)
  }
}

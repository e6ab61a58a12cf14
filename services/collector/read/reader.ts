import { connectDatabase } from '../../shared/postgres/database.ts'
import { quote } from '../../shared/postgres/copy/copy-connection.ts'
import { isDatabaseUnavailable, sqlState } from '../../shared/postgres/failures.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError } from '../../shared/errors.ts'
import { createCopyReader } from './copy-reader.ts'
import type { Log } from '../../shared/log.ts'
import type { ArchivedFile } from '../store/archive/archive-store.ts'
import type { SoughtAttribute } from '../store/archive/attribute-holders.ts'
import type { SoughtTrace } from '../store/archive/find-archived.ts'

interface WarmLimits {
  /** When it ends at the latest, by `performance.now()`. */
  readonly until: number
  /** What cannot be brought back may be missing. */
  readonly mayMiss: boolean
}

/** Spans of archived days, which are brought back before they are read. */
export interface ColdReader {
  /**
   * Brings the spans of these traces back, within a question. False when that took too long; then
   * it goes on. Raises `unavailable`, also where the question has to be asked again elsewhere.
   */
  warm(sql: Queryable, traces: readonly SoughtTrace[], limits?: WarmLimits): Promise<boolean>
  /**
   * The traces of a file with an attribute, by their UUIDs; undefined when that took too long; then
   * it goes on. Raises `unavailable`.
   */
  holdersOf(
    attribute: SoughtAttribute,
    file: ArchivedFile,
    until: number,
  ): Promise<ReadonlySet<string> | undefined>
  /** Brings all traces of a day back, between questions. */
  warmDay(day: string): Promise<void>
}

/** Questions to the trace database about one organization, or about all. */
export interface Reader {
  /** Undefined where there is no store of archived days. */
  readonly cold?: ColdReader | undefined
  /** An empty text for the platform itself; undefined for all of them. */
  readonly organization: string | undefined
  /**
   * Raises `timeout` for a question that takes too long, and `unavailable` while the database is
   * away.
   */
  ask<Rows>(question: (sql: Queryable) => Promise<Rows>): Promise<Rows>
  /**
   * Asks with one statement, which has its values written out: with the reader's limits before it
   * in the same message, it takes one round trip. Raises as `ask` does.
   */
  askOnce<Row extends object>(statement: string): Promise<readonly Row[]>
  /**
   * Runs a `copy … to stdout`, without a limit to the number of rows: `onRow` gets each while the
   * server sends it. Raises as `ask` does.
   */
  copyOut(statement: string, onRow: (row: Buffer) => void): Promise<void>
}

/** Readers, on connections of their own: they never hold up a writer. */
export interface Readers {
  /** One that sees the rows of this organization, or, for undefined, of all. */
  for(organization: string | undefined): Reader
  close(): Promise<void>
}

interface ReaderOptions {
  readonly statementMs?: number
  readonly log: Log
}

const CONNECTIONS = 3
const STATEMENT_MS = 5000
/** A question may wait for a connection, and must not outlive a connection that is dead. */
const DEADLINE_MS = 5000
/** SQLSTATE of a statement that the server ended at its timeout. */
const CANCELED = '57014'
/**
 * For the sort of 100,000 rows, which else goes through files. One process writes the rows in any
 * case: with others to gather them from, the same rows take nearly twice the processor time.
 */
const COPY_SETTINGS =
  "set local work_mem = '32MB'; set local jit = off; set local max_parallel_workers_per_gather = 0;"

/** Opens connections that can only read. */
export function openReaders(
  address: DatabaseAddress,
  { statementMs = STATEMENT_MS, log }: ReaderOptions,
): Readers {
  const limits = { max: CONNECTIONS, statementTimeoutMs: statementMs, connectTimeoutMs: 3000 }
  const sql = connectDatabase(address, {
    name: 'collector-read',
    plansEachTime: true,
    ...limits,
  })
  const copies = createCopyReader(address, { statementMs })
  const noteRole = createRoleNote(log)
  const within = async <Rows>(work: () => Promise<Rows>): Promise<Rows> => {
    try {
      return await deadline({ name: 'The trace database', timeoutMs: DEADLINE_MS }, work)
    } catch (thrown) {
      throw toReadError(thrown, statementMs)
    }
  }
  return {
    for: (organization) => ({
      organization,
      ask: (question) =>
        within(() =>
          organization === undefined
            ? question(sql)
            : askLimited(sql, organization, { question, noteRole }),
        ),
      askOnce: <Row extends object>(statement: string) =>
        within(() =>
          organization === undefined
            ? sql.unsafe<Row[]>(statement)
            : askAtOnce<Row>(sql, `${limitTo(organization)} ${statement}`, noteRole),
        ),
      copyOut(statement, onRow) {
        const limits = organization === undefined ? '' : limitTo(organization)
        const statements = `${limits} ${COPY_SETTINGS} ${statement}`
        return within(() => copies.read(statements, onRow))
      },
    }),
    async close() {
      copies.close()
      await sql.end({ timeout: 1 })
    },
  }
}

interface Limited<Rows> {
  readonly question: (sql: Queryable) => Promise<Rows>
  readonly noteRole: (hasRole: boolean) => void
}

/**
 * Asks within a transaction that sees one organization: by row-level security, whatever the
 * question says, where the collector has the role for it, and in any case by the views.
 */
async function askLimited<Rows>(
  sql: Database,
  organization: string,
  { question, noteRole }: Limited<Rows>,
): Promise<Rows> {
  const { rows } = await sql.begin('read only', async (tx) => {
    const [limits] = await tx<{ hasRole: boolean }[]>`
      select limit_reader(${settingOf(organization)}) as has_role`
    noteRole(limits?.hasRole === true)
    return { rows: await question(tx) }
  })
  return rows
}

/** Asks with the statements of `limitTo` and one more, whose rows are returned. */
async function askAtOnce<Row extends object>(
  sql: Database,
  statements: string,
  noteRole: (hasRole: boolean) => void,
): Promise<readonly Row[]> {
  // The driver's types are those of a single statement; of several it returns a list for each.
  const results = await sql.unsafe<(readonly object[])[]>(statements)
  const [, limits = [], rows = []] = results
  const [limit] = limits as readonly { readonly limitReader: boolean }[]
  noteRole(limit?.limitReader === true)
  return rows as readonly Row[]
}

/** As `reading_organization` reads it: an empty setting is none. */
const settingOf = (organization: string): string => (organization === '' ? '\u0001' : organization)

/** The same for statements that have no parameters. */
const limitTo = (organization: string): string => `
  set local transaction read only;
  select limit_reader(${quote(settingOf(organization))});`

/** Tells once that the role is missing. */
function createRoleNote(log: Log): (hasRole: boolean) => void {
  let isTold = false
  return (hasRole) => {
    if (hasRole || isTold) return
    isTold = true
    log.warn(
      'the database has no role "collector_reader" that the collector may take: readers of an ' +
        'organization are limited by views and conditions alone',
    )
  }
}

function toReadError(thrown: unknown, statementMs: number): unknown {
  if ((thrown instanceof AppError ? thrown.details['sqlstate'] : sqlState(thrown)) === CANCELED) {
    const message = `The question takes more than ${statementMs} ms; narrow it with from and to.`
    return new AppError('timeout', message, { cause: thrown })
  }
  return isDatabaseUnavailable(thrown) ? databaseUnavailable(thrown) : thrown
}

const databaseUnavailable = (cause: unknown): AppError =>
  new AppError('unavailable', 'The trace database does not answer; try again.', {
    cause,
    headers: { 'retry-after': '1' },
  })

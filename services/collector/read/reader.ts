import { connectDatabase } from '../../shared/postgres/database.ts'
import { isDatabaseUnavailable, sqlState } from '../../shared/postgres/failures.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError } from '../../shared/errors.ts'
import { createCopyReader } from './copy-reader.ts'

/** Questions to the trace database, on connections of their own: readers never hold up a writer. */
export interface Reader {
  /**
   * Raises `timeout` for a question that takes too long, and `unavailable` while the database is
   * away.
   */
  ask<Rows>(question: (sql: Database) => Promise<Rows>): Promise<Rows>
  /**
   * The rows of a query as COPY's text format has them, without a limit to their number: `onRow`
   * gets each while the server sends it. Raises as `ask` does.
   */
  copyOut(query: string, onRow: (row: Buffer) => void): Promise<void>
  close(): Promise<void>
}

const CONNECTIONS = 3
const STATEMENT_MS = 5000
/** A question may wait for a connection, and must not outlive a connection that is dead. */
const DEADLINE_MS = 8000
/** SQLSTATE of a statement that the server ended at its timeout. */
const CANCELED = '57014'
/** For the sort of 100,000 rows, which else goes through files. */
const COPY_SETTINGS = "set local work_mem = '32MB'; set local jit = off;"

/** Opens connections that can only read. */
export function openReader(
  address: DatabaseAddress,
  { statementMs = STATEMENT_MS }: { statementMs?: number } = {},
): Reader {
  const limits = { max: CONNECTIONS, statementTimeoutMs: statementMs, connectTimeoutMs: 3000 }
  const sql = connectDatabase(address, { name: 'collector-read', ...limits })
  const copies = createCopyReader(address, { statementMs })
  const within = async <Rows>(work: () => Promise<Rows>): Promise<Rows> => {
    try {
      return await deadline({ name: 'The trace database', timeoutMs: DEADLINE_MS }, work)
    } catch (thrown) {
      throw toReadError(thrown, statementMs)
    }
  }
  return {
    ask: (question) => within(() => question(sql)),
    copyOut: (query, onRow) =>
      within(() => copies.read(`${COPY_SETTINGS} copy (${query}) to stdout`, onRow)),
    async close() {
      copies.close()
      await sql.end({ timeout: 1 })
    },
  }
}

function toReadError(thrown: unknown, statementMs: number): unknown {
  if (stateOf(thrown) === CANCELED) {
    const message = `The question takes more than ${statementMs} ms; narrow it with from and to.`
    return new AppError('timeout', message, { cause: thrown })
  }
  return isDatabaseUnavailable(thrown) ? databaseUnavailable(thrown) : thrown
}

const stateOf = (thrown: unknown): unknown =>
  thrown instanceof AppError ? thrown.details['sqlstate'] : sqlState(thrown)

const databaseUnavailable = (cause: unknown): AppError =>
  new AppError('unavailable', 'The trace database does not answer; try again.', {
    cause,
    headers: { 'retry-after': '1' },
  })

import { deadline } from '../shared/deadline.ts'
import type { DatabaseAddress } from '../shared/postgres/address.ts'
import { connectDatabase } from '../shared/postgres/database.ts'
import type { Database } from '../shared/postgres/database.ts'

/** One connection for changes of a kind, apart from those of the readers and the flushes. */
interface ChangeConnection {
  readonly sql: Database
  /** Makes a change in time. Raises `timeout` and errors of the database. */
  readonly make: <Result>(change: () => Promise<Result>) => Promise<Result>
  readonly close: () => Promise<void>
}

const LIMITS = { max: 1, statementTimeoutMs: 3000, connectTimeoutMs: 3000 }
/** Within the time that the readers of an answer have. */
const DEADLINE_MS = 5000

/** Opens no connection before the first change. */
export function openForChanges(address: DatabaseAddress, name: string): ChangeConnection {
  const sql = connectDatabase(address, { name, ...LIMITS })
  return {
    sql,
    make: (change) => deadline({ name: 'The trace database', timeoutMs: DEADLINE_MS }, change),
    close: () => sql.end({ timeout: 1 }),
  }
}

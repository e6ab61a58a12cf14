import type { DatabaseAddress } from './address.ts'
import type { Database } from './database.ts'
import { deadline } from '../deadline.ts'
import { openDisposable } from './disposable-database.ts'
import type { DisposableDatabase } from './disposable-database.ts'

const TIMEOUT_MS = 2000

/** A connection that asks whether the database is there. */
interface DatabasePing {
  /** Rejects unless the database responds in time. */
  readonly ping: () => Promise<void>
  readonly close: () => Promise<void>
}

/** The name of the connection, and the age that a result may have. */
interface DatabasePingOptions {
  /** Shown in `pg_stat_activity`. */
  readonly name: string
  /** The time for which further calls share a result. @default 0 */
  readonly freshMs?: number
}

/**
 * Opens a cheap ping on a connection of its own, so that a busy pool does not look like a dead
 * database (SPEC 4.2). Calls that wait at the same time share one statement.
 */
export function openDatabasePing(
  address: DatabaseAddress,
  { name, freshMs = 0 }: DatabasePingOptions,
): DatabasePing {
  const probe = openProbe(address, { name, ask: async (sql) => void (await sql`select 1`) })
  return { ping: coalesce(probe.ask, freshMs), close: probe.close }
}

/** A connection that asks one short question again and again. */
interface Probe<Answer> {
  /** Rejects unless the database responds in time. */
  readonly ask: () => Promise<Answer>
  readonly close: () => Promise<void>
}

/** The name of the connection in `pg_stat_activity`, and its question. */
interface ProbeOptions<Answer> {
  readonly name: string
  readonly ask: (sql: Database) => Promise<Answer>
}

/** Opens a connection of its own for a question that takes no more than two seconds. */
export function openProbe<Answer>(
  address: DatabaseAddress,
  { name, ask }: ProbeOptions<Answer>,
): Probe<Answer> {
  const limits = { max: 1, connectTimeoutMs: TIMEOUT_MS, statementTimeoutMs: TIMEOUT_MS }
  const open = (): DisposableDatabase => openDisposable(address, { name, ...limits })
  let database = open()
  return {
    async ask() {
      try {
        return await deadline({ name: 'database', timeoutMs: TIMEOUT_MS }, () => ask(database.sql))
      } catch (thrown) {
        // The next question must not queue behind a statement that hangs on a dead connection.
        void database.dispose()
        database = open()
        throw thrown
      }
    },
    close: () => database.dispose(),
  }
}

/**
 * Shares one result, good or bad, between all calls that wait for it and those within `freshMs` of
 * its start.
 */
export function coalesce(call: () => Promise<void>, freshMs: number): () => Promise<void> {
  let shared: Promise<void> | undefined
  let freshUntil = 0
  let pending = false
  return function callOnce() {
    if (shared && (pending || performance.now() < freshUntil)) return shared
    freshUntil = performance.now() + freshMs
    pending = true
    shared = call().finally(() => (pending = false))
    return shared
  }
}

import type { Socket } from 'node:net'
import postgres from 'postgres'
import type { DatabaseAddress } from './address.ts'
import { arrayTypes } from './arrays.ts'
import { openDriverSocket } from './driver-socket.ts'

/** A connection pool: statements are tagged templates, `begin` opens a transaction. */
export type Database = postgres.Sql
/** An open transaction: its statements run on one connection, and commit when its callback ends. */
export type Transaction = postgres.TransactionSql
/** A connection pool or an open transaction: the verbs of `platform/` run in either. */
export type Queryable = Database | Transaction

/** The name and the limits of a connection pool. */
export interface ConnectOptions {
  /** Shown in `pg_stat_activity`. */
  readonly name: string
  /** Connections at the most. @default 10 */
  readonly max?: number
  /** The server ends a statement after this. @default 30_000 */
  readonly statementTimeoutMs?: number
  /** @default 10_000 */
  readonly connectTimeoutMs?: number
  /**
   * Plan each statement for its own values: one plan for all of them is far slower where they
   * decide which index is of use.
   * @default false
   */
  readonly plansEachTime?: boolean
  /**
   * Find rows by indexes alone, with one plan for all values: for statements about a few rows, of
   * which PostgreSQL knows only when it runs them that they are few. It would read whole tables.
   * @default false
   */
  readonly looksUpRows?: boolean
  /** Sees each socket, for those who must be sure that none outlives them. */
  readonly onSocket?: (socket: Socket) => void
}

const LOOKUPS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
}

/**
 * Creates a connection pool; it connects on first use, and again by itself after the server was
 * unavailable. Columns arrive in camelCase.
 */
export function connectDatabase(address: DatabaseAddress, options: ConnectOptions): Database {
  const { sslMode: _, ...login } = address
  const { name, max = 10, statementTimeoutMs = 30_000 } = options
  const { connectTimeoutMs = 10_000, onSocket } = options
  const settings = {
    ...login,
    max,
    connect_timeout: connectTimeoutMs / 1000,
    idle_timeout: 60,
    onnotice: () => {},
    fetch_types: false,
    types: arrayTypes,
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel }, undefined: null },
    connection: {
      application_name: name,
      statement_timeout: statementTimeoutMs,
      ...(options.plansEachTime ? { plan_cache_mode: 'force_custom_plan' } : {}),
      ...(options.looksUpRows ? LOOKUPS : {}),
    },
    socket: () => openDriverSocket(address, { connectTimeoutMs, onSocket }),
  }
  return postgres(settings)
}

/**
 * Runs `work` in a transaction: in the one that is open already, or in one of its own, which is
 * committed when `work` is done.
 */
export async function inTransaction<Result>(
  sql: Queryable,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  if ('savepoint' in sql) return work(sql)
  let result: { readonly value: Result } | undefined
  await sql.begin(async (tx) => {
    result = { value: await work(tx) }
  })
  if (result) return result.value
  throw new Error('a transaction ended without its work')
}

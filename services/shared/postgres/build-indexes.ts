import { setTimeout as delay } from 'node:timers/promises'
import { sqlState } from './failures.ts'
import type { Database } from './database.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'

/** An index as a migration declares it. */
export interface IndexDefinition {
  readonly name: string
  readonly table: string
  readonly isUnique: boolean
  /** The rest of the statement after the name of the table: columns, and a condition. */
  readonly definition: string
}

const CREATE_INDEX = /^create\s+(unique\s+)?index\s+(\w+)\s+on\s+(\w+)\s*([^]+)$/i

/** The indexes of a migration that creates nothing else; none for any other. */
export function readIndexes(statements: string): IndexDefinition[] {
  const parts = statements.replace(/--.*$/gm, '').split(';')
  const given = parts.map((part) => part.trim()).filter((part) => part !== '')
  const found = given.flatMap((part) => {
    const [, unique, name, table, definition] = CREATE_INDEX.exec(part) ?? []
    const isUnique = unique !== undefined
    return name && table && definition ? [{ name, table, isUnique, definition }] : []
  })
  return found.length === given.length ? found : []
}

/** Any number, beside that of the migrations. */
const LOCK = 7_310_452_120
const POLL_MS = 1000
const MAX_POLLS = 3600
const MAX_TRIES = 10
/** The partition was dropped meanwhile; a deadlock with someone who drops it. */
const GONE = '42P01'
const DEADLOCK = '40P01'

/**
 * Builds these indexes on each partition that their tables have, concurrently: rows are written all
 * the while. The migration itself then finds them and attaches them at once (PostgreSQL's `create
 * index` on a partitioned table takes indexes of the same definition that are there). What a killed
 * run has left is completed. One replica builds at a time; the others wait outside of any
 * transaction, or the builder would wait for them. Raises `unavailable` after an hour, and an error
 * for a pool of more than one connection.
 */
export async function buildIndexes(
  sql: Database,
  indexes: readonly IndexDefinition[],
  log: Log,
): Promise<void> {
  const parts = await listParts(sql, indexes)
  if (parts.length === 0) return
  // The lock is the session's, and postgres.js fails badly when one that it has reserved is lost.
  if (sql.options.max !== 1) throw new Error('Indexes are built by a pool of one connection.')
  await waitForTurn(sql, log)
  try {
    // Without a limit: it is no statement that anyone waits for.
    await sql`set statement_timeout = 0`
    for (const part of parts) await buildPart(sql, part, log)
  } finally {
    await sql`select pg_advisory_unlock(${LOCK})`
    await sql`reset statement_timeout`
  }
}

async function waitForTurn(sql: Database, log: Log): Promise<void> {
  for (let polls = 0; polls < MAX_POLLS; polls++) {
    const [row] = await sql`select pg_try_advisory_lock(${LOCK}) as locked`
    if (row?.['locked'] === true) return
    if (polls === 0) log.info('another replica builds the indexes; waiting for it')
    await delay(POLL_MS)
  }
  throw new AppError('unavailable', 'Another replica has been building indexes for an hour.')
}

/**
 * The indexes as each partition has them; a partition that is made later gets them from its table.
 */
async function listParts(
  sql: Database,
  indexes: readonly IndexDefinition[],
): Promise<IndexDefinition[]> {
  const parts: IndexDefinition[] = []
  for (const { name, table, ...rest } of indexes) {
    const partitions = await sql<{ name: string }[]>`
      select relid::regclass::text as name from pg_partition_tree(to_regclass(${table}))
      where isleaf and level > 0 order by relid::regclass::text`
    for (const partition of partitions) {
      parts.push({ name: `${partition.name}_${name}`, table: partition.name, ...rest })
    }
  }
  return parts
}

async function buildPart(sql: Database, part: IndexDefinition, log: Log): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await buildMissing(sql, part, log)
      return
    } catch (thrown) {
      const state = sqlState(thrown)
      if (state === GONE) return
      if (state !== DEADLOCK || tries === MAX_TRIES) throw thrown
    }
  }
}

async function buildMissing(
  sql: Database,
  { name, table, isUnique, definition }: IndexDefinition,
  log: Log,
): Promise<void> {
  const [found] = await sql<{ isValid: boolean }[]>`
    select indisvalid as is_valid from pg_index where indexrelid = to_regclass(${name})`
  if (found?.isValid === true) return
  // One that was not finished is of no use.
  if (found) await sql.unsafe(`drop index concurrently ${name}`)
  const started = performance.now()
  const kind = isUnique ? 'unique index' : 'index'
  await sql.unsafe(`create ${kind} concurrently ${name} on ${table} ${definition}`)
  log.info({ index: name, ms: Math.round(performance.now() - started) }, 'index built')
}

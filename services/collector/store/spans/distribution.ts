import type { Database, Queryable, Transaction } from '../../../shared/postgres/database.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'

/** Any number: what matters is that every replica takes the same lock. */
const LOCK = 7_310_452_122

/** Small, and read by queries on every node: a copy of each is on all of them. */
const REFERENCE_TABLES = [
  'schema_migrations',
  'retention',
  'resources',
  'scopes',
  'organization_prices',
  'held_traces',
]
/** Stay on the coordinator; the other nodes know where they are. */
const COORDINATOR_TABLES = ['span_rejects', 'touched_traces', 'heartbeat', 'erasures']
/** Of these the column `id` is counted up. */
const COUNTED_TABLES = ['span_rejects', 'erasures']

/**
 * By default Citus opens a connection for each shard of a statement, and closes it again: a writer
 * loses nine tenths of its rate by that, and a look at all shards takes twice the processor time.
 */
const ONE_CONNECTION = 'citus.max_adaptive_executor_pool_size = 1'
/** The setting of a session with much to do. */
export const DISTRIBUTED_SESSION = `set ${ONE_CONNECTION}`
/** The setting of a transaction that looks at all shards. */
export const DISTRIBUTED_TRANSACTION = `set local ${ONE_CONNECTION}`

/** Returns whether the spans are spread over the nodes of Citus; false on a plain PostgreSQL. */
export async function isDistributed(sql: Queryable): Promise<boolean> {
  const [row] = await sql<{ isDistributed: boolean }[]>`select is_distributed()`
  return row?.isDistributed === true
}

/**
 * Spreads the spans over the nodes of Citus by trace id, with those that are there already, and
 * tells Citus where the other tables are. Does nothing for a table that it has done before. Raises
 * `invalid_configuration` where there is no Citus.
 */
export async function distribute(sql: Database, log: Log): Promise<void> {
  await requireCitus(sql)
  const isFirst = await sql.begin(async (tx) => {
    // Rows that are there move to other nodes.
    await tx`set local statement_timeout = '1h'`
    await tx`select pg_advisory_xact_lock(${LOCK})`
    // Tables of several kinds in one transaction.
    await tx`set local citus.multi_shard_modify_mode = 'sequential'`
    const known = await listKnown(tx)
    const missing = (table: string): boolean => !known.has(table)
    for (const table of ['spans', ...REFERENCE_TABLES, ...COORDINATOR_TABLES].filter(missing)) {
      await tx`select unprotect_table(${table}::text::regclass)`
    }
    for (const table of REFERENCE_TABLES.filter(missing)) {
      await tx`select create_reference_table(${table}::text)`
    }
    if (missing('spans')) await distributeSpans(tx, log)
    for (const table of COORDINATOR_TABLES.filter(missing)) await shareTable(tx, table)
    return missing('spans')
  })
  // They have statements for tables on one node.
  if (isFirst) await endSessions(sql)
}

async function distributeSpans(tx: Transaction, log: Log): Promise<void> {
  const days = await tx<{ name: string }[]>`
    select inhrelid::regclass::text as name from pg_inherits
    where inhparent = 'spans'::regclass and not inhdetachpending`
  for (const { name } of days) await tx.unsafe(identifyWholeRows(name))
  await tx`select create_distributed_table('spans', 'trace_id')`
  log.info('the spans are distributed by trace id')
}

/**
 * The statement that lets spans of a day be changed while they move to another node: moved rows are
 * found again by their replica identity, and the key has a column that may be null.
 */
export const identifyWholeRows = (day: string): string => `alter table ${day} replica identity full`

/** Tells the other nodes where a table is. It begins to count anew by that. */
async function shareTable(tx: Transaction, table: string): Promise<void> {
  // There it could not reach the spans: writers look for erased traces themselves.
  if (table === 'touched_traces') await tx`drop trigger remove_erased_spans on touched_traces`
  await tx`select citus_add_local_table_to_metadata(${table}::text)`
  if (!COUNTED_TABLES.includes(table)) return
  await tx`
    select setval(pg_get_serial_sequence(${table}::text, 'id'), max(id))
    from ${tx(table)} having max(id) is not null`
}

/** Ends the sessions of running collectors, which open others at once. */
const endSessions = (sql: Database): Promise<unknown> => sql`
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and usename = current_user
    and application_name in ('collector-writer', 'collector-roll-ups', 'collector-search')`

async function requireCitus(sql: Database): Promise<void> {
  const [found] = await sql`select from pg_extension where extname = 'citus'`
  if (found) return
  throw new AppError(
    'invalid_configuration',
    'COLLECTOR_DISTRIBUTE is true, and the trace database has no Citus. Run "create extension ' +
      'citus" in it as a superuser and add the other nodes, or unset the variable.',
  )
}

async function listKnown(tx: Transaction): Promise<Set<string>> {
  const rows = await tx<{ name: string }[]>`
    select logicalrelid::regclass::text as name from pg_dist_partition`
  return new Set(rows.map(({ name }) => name))
}

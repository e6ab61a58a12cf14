import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { openDisposable } from '../../shared/postgres/disposable-database.ts'
import type { Collection } from './collection.ts'

const TIMEOUT_MS = 10_000
const TABLES_MAX = 200

/**
 * Collects what a database says of itself: its version, the migrations that were applied, sizes,
 * and how many sessions do what. No row of a table, and no text of a statement.
 */
export async function collectDatabase(
  name: string,
  address: DatabaseAddress,
  collection: Collection,
): Promise<void> {
  collection.redaction.learn([address.password])
  const limits = { max: 1, connectTimeoutMs: TIMEOUT_MS, statementTimeoutMs: TIMEOUT_MS }
  const database = openDisposable(address, { name: 'doctor', ...limits })
  try {
    for (const [file, read] of Object.entries(READINGS)) {
      await collection.part(`${file} of the ${name} database`, async () => {
        collection.addJson(`databases/${name}/${file}.json`, await read(database.sql))
      })
    }
  } finally {
    await database.dispose()
  }
}

const READINGS: Readonly<Record<string, (sql: Database) => Promise<unknown>>> = {
  server: async (sql) => sql`
    select version(), current_database() as database, pg_is_in_recovery() as is_replica,
      now() as clock, pg_postmaster_start_time() as started,
      pg_database_size(current_database())::float8 as bytes,
      (select array_agg(extname || ' ' || extversion) from pg_extension) as extensions`,
  migrations: async (sql) => sql`
    select version, name, applied_at from schema_migrations order by version`,
  tables: async (sql) => sql`
    select relname as table, pg_total_relation_size(relid)::float8 as bytes,
      n_live_tup::float8 as rows, n_dead_tup::float8 as dead_rows, last_autovacuum, last_autoanalyze
    from pg_stat_user_tables order by pg_total_relation_size(relid) desc limit ${TABLES_MAX}`,
  sessions: async (sql) => sql`
    select application_name, state, wait_event_type, count(*)::int as sessions,
      max(extract(epoch from now() - xact_start))::float8 as oldest_transaction_seconds
    from pg_stat_activity where datname = current_database()
    group by application_name, state, wait_event_type order by 1, 2, 3 limit ${TABLES_MAX}`,
}

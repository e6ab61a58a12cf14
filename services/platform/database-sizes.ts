import type { Queryable } from '../shared/postgres/database.ts'

/** Twice the four weeks that a growth is read from. */
const KEPT_DAYS = 56

/** Records how large the main database is, once a day, and forgets days that are too old. */
export async function recordDatabaseSize(sql: Queryable): Promise<void> {
  const today = sql`(now() at time zone 'UTC')::date`
  await sql`
    insert into database_sizes (day, bytes)
    select ${today}, pg_database_size(current_database())
    where not exists (select from database_sizes where day = ${today})
    on conflict (day) do nothing`
  await sql`delete from database_sizes where day < ${today} - ${KEPT_DAYS}::int`
}

/** How large the main database is and was, in bytes, and what else is on its server. */
interface DatabaseSizes {
  readonly bytes: number
  /** Of what else is in its tablespace, and the log of the server at its largest. */
  readonly otherBytes: number
  /** Of each day before today, the oldest first; a day without a record is as the one before. */
  readonly days: readonly number[]
}

/** Reads the sizes of the main database. */
export async function readDatabaseSizes(sql: Queryable): Promise<DatabaseSizes> {
  const [row] = await sql<[DatabaseSizes]>`
    with days as (
      select day, bytes from database_sizes where day < (now() at time zone 'UTC')::date
    )
    select pg_database_size(current_database())::float8 as bytes,
      -- not the sum of pg_database_size, which fails if one of them is dropped meanwhile
      (select greatest(pg_tablespace_size(dattablespace) - pg_database_size(oid), 0)
        from pg_database where datname = current_database())::float8
        -- as much again while a checkpoint is late
        + 2 * pg_size_bytes(current_setting('max_wal_size'))::float8 as other_bytes,
      (select coalesce(json_agg(
          (select bytes from days where day <= each order by day desc limit 1) order by each), '[]')
        from generate_series((select min(day) from days),
          (now() at time zone 'UTC')::date - 1, interval '1 day') each) as days`
  return row
}

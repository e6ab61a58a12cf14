import type { Database } from '../../shared/postgres/database.ts'

/** Any number that nothing else locks: one worker at a time makes and drops days. */
const LOCK = 7_310_452_131
/** The days that have partitions before they begin. */
const DAYS_AHEAD = 3
/** What runs report; each has a partition for each day of `run_days`. */
const TABLES = [
  'execution_events',
  'run_steps',
  'run_payloads',
  'run_artifacts',
  'run_contents',
] as const

/**
 * Makes the partitions of today, by PostgreSQL's clock, and of the days ahead. Returns how many
 * days were made. While a day has none, its runs are kept with those without a day, and deleted
 * one by one.
 */
export async function makeRunDays(sql: Database): Promise<number> {
  const missing = await sql<{ day: string }[]>`
    select day::text from generate_series(0, ${DAYS_AHEAD}::int) ahead,
      lateral (select (now() at time zone 'UTC')::date + ahead as day) d
    where not exists (select from run_days r where r.day = d.day) order by day`
  for (const { day } of missing) {
    await sql.begin(async (tx) => {
      // Starts of runs wait while this waits for a lock.
      await tx`set local lock_timeout = '500ms'`
      await tx`select pg_advisory_xact_lock(${LOCK})`
      await tx`
        select make_run_day(${day}::text::date)
        where not exists (select from run_days where day = ${day}::text::date)`
    })
  }
  return missing.length
}

/**
 * Drops what the runs of the oldest day have reported, once all of them ended before the retention
 * and no hold keeps any of them.
 * Their rows in `executions` remain. Returns the day; undefined when there is none.
 */
export async function dropExpiredDay(sql: Database, days: number): Promise<string | undefined> {
  const [expired] = await sql<{ day: string; suffix: string }[]>`
    select day::text, to_char(day, 'YYYYMMDD') as suffix from run_days
    where day < (now() at time zone 'UTC')::date - ${days}::int
      and not exists (
        select from executions where id >= first_run_id(day) and id < first_run_id(day + 1)
          and (finished_at is null or finished_at >= now() - make_interval(days => ${days})
            or (exists (select from legal_holds) and run_is_held(executions))))
    order by day limit 1`
  if (!expired) return undefined
  // One by one: who writes waits for no more than one table.
  for (const table of TABLES) {
    await sql.begin(async (tx) => {
      await tx`set local lock_timeout = '500ms'`
      await tx`select pg_advisory_xact_lock(${LOCK})`
      await tx`drop table if exists ${tx(`${table}_${expired.suffix}`)}`
    })
  }
  await sql`delete from run_days where day = ${expired.day}::text::date`
  return expired.day
}

import type { Database } from '../../shared/postgres/database.ts'

/** Any number that nothing else locks: one worker at a time deletes. */
const LOCK = 7_310_452_119
/** A statement that deletes takes a fraction of a second, however many events the runs have. */
const BATCH_SIZE = 200
/** Runs whose day has not been dropped are deleted one by one after so many days more. */
const GRACE_DAYS = 2

interface Retention {
  /** Runs that ended longer ago are deleted, by PostgreSQL's clock. */
  readonly days: number
  /** @default 200 */
  readonly batchSize?: number
}

/**
 * Deletes one batch of runs that ended before the retention, the oldest first, with their progress
 * and their idempotency keys. Those of a day wait until it is dropped, or for two more days where
 * one of its runs keeps it. Returns how many; 0 also while another worker is at it. A run that is
 * not over is never deleted.
 */
export async function deleteExpiredRuns(
  sql: Database,
  { days, batchSize = BATCH_SIZE }: Retention,
): Promise<number> {
  return sql.begin(async (tx) => {
    const [lock] = await tx<[{ isOurs: boolean }]>`
      select pg_try_advisory_xact_lock(${LOCK}) as is_ours`
    if (!lock.isOurs) return 0
    const { count } = await tx`
      delete from executions where id in (
        select id from executions where finished_at < now() - make_interval(days => ${days})
          and (finished_at < now() - make_interval(days => ${days + GRACE_DAYS})
            or run_day(id) is null or run_day(id) not in (select day from run_days))
        order by finished_at limit ${batchSize})`
    return count
  })
}

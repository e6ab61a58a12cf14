import { AppError } from '../../shared/errors.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { violatedConstraint } from '../../shared/postgres/failures.ts'

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
 * not over, or that a hold keeps, is never deleted.
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
          and not (exists (select from legal_holds) and run_is_held(executions))
        order by finished_at limit ${batchSize})`
    return count
  })
}

/** Raises `conflict` when a hold keeps one of the runs, `executions e`, of a condition. */
export async function refuseHeldRuns(sql: Queryable, which: ReturnType<Queryable>): Promise<void> {
  const held = await sql`
    select from executions e where ${which} and organization_id in (
      select organization_id from legal_holds) and run_is_held(e) limit 1`
  if (held.length > 0) throw keptByHold('runs that would be deleted')
}

/** Raises `conflict` when a hold keeps cases or rows of batches of one of `deployments d`. */
export async function refuseHeldInputs(
  sql: Queryable,
  which: ReturnType<Queryable>,
): Promise<void> {
  const held = await sql`
    select from deployments d where ${which} and (cases_are_held(d) or batches_are_held(d))
    limit 1`
  if (held.length > 0) throw keptByHold('cases, or rows of batches, that would be deleted')
}

/** Waits for a deletion. Raises `conflict` where a hold keeps a part of it: `this case`. */
export async function unlessHeld<Result>(
  what: string,
  deletion: PromiseLike<Result>,
): Promise<Result> {
  try {
    return await deletion
  } catch (thrown) {
    throw isKeptByHold(thrown) ? keptByHold(what) : thrown
  }
}

/** Tells whether a statement failed because a hold keeps what it deletes. */
export const isKeptByHold = (thrown: unknown): boolean =>
  violatedConstraint(thrown) === 'legal_hold'

const keptByHold = (what: string): AppError =>
  new AppError(
    'conflict',
    `A legal hold keeps ${what}. Ask an admin of the organization to lift it, under Erasures.`,
  )

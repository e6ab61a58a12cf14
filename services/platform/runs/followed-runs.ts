import type { Queryable } from '../../shared/postgres/database.ts'

/** The channel of changes; the payload is the id of a run, and `event` or `status`. */
export const RUN_CHANGED = 'run_changed'
/** A run that is not announced again for so long is followed no more. */
export const ANNOUNCED_MS = 30_000

/** Those that are forgotten at a time. */
const FORGOTTEN_MAX = 1000

/**
 * Has the changes of runs announced for `ANNOUNCED_MS`: all that are committed after this has
 * ended. What was committed before is to be looked up then.
 */
export async function announceRuns(sql: Queryable, runIds: readonly string[]): Promise<void> {
  const ids = [...runIds].sort()
  await sql`
    insert into followed_runs (run_id, until)
    select id, now() + make_interval(secs => ${ANNOUNCED_MS / 1000})
    from unnest(${ids}::uuid[]) id
    on conflict (run_id) do update set until = excluded.until`
  // Who changes a run holds it locked, and may have looked before it was entered.
  await sql`select from executions where id = any(${ids}::uuid[]) order by id for share`
}

/** Forgets the runs that nobody follows any more. */
export async function forgetFollowedRuns(sql: Queryable): Promise<void> {
  await sql`
    delete from followed_runs where run_id in (
      select run_id from followed_runs where until < now() limit ${FORGOTTEN_MAX}
      for update skip locked)`
}

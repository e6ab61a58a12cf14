import type { Queryable } from '../../shared/postgres/database.ts'

/** A limit on failed sign-ins in a window. */
export interface Throttle {
  /** The subject of the count: an account, an address. */
  readonly subject: string
  readonly limit: number
  readonly windowSeconds: number
}

/** Returns the seconds until the subject may try again; 0 when it may now. */
export async function throttledForSeconds(
  sql: Queryable,
  { subject, limit }: Throttle,
): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    select ceil(extract(epoch from window_ends_at - now()))::int as seconds from sign_in_failures
    where subject = ${subject} and failures >= ${limit} and window_ends_at > now()`
  return row?.seconds ?? 0
}

/** Counts one failure, in a window that starts with the first. Returns how many there are now. */
export async function countFailure(
  sql: Queryable,
  { subject, windowSeconds }: Throttle,
): Promise<number> {
  const [row] = await sql<[{ failures: number }]>`
    insert into sign_in_failures as f (subject, failures, window_ends_at)
    values (${subject}, 1, now() + make_interval(secs => ${windowSeconds}))
    on conflict (subject) do update set
      failures = case when f.window_ends_at > now() then f.failures + 1 else 1 end,
      window_ends_at = case when f.window_ends_at > now()
        then f.window_ends_at else excluded.window_ends_at end
    returning failures`
  return row.failures
}

/** Deletes the failures of a subject after a successful sign-in, and all expired windows. */
export async function clearFailures(sql: Queryable, subject: string): Promise<void> {
  await sql`delete from sign_in_failures where subject = ${subject} or window_ends_at <= now()`
}

import type { Queryable } from '../../shared/postgres/database.ts'
import type { OwnLimits } from '../people/organization-limits.ts'

const FORGET_MINUTES = 60

/** Calls of one minute, by subject. */
interface CallCounts {
  /** Since 1970. */
  readonly minute: number
  readonly calls: ReadonlyMap<string, number>
}

/** The rates of one organization where they are its own. */
export type OwnRates = Pick<OwnLimits, 'tokenCalls' | 'organizationCalls'>

/**
 * Adds the calls that this process has answered to those of the others. Returns what they come to,
 * by subject.
 */
export async function shareCalls(
  sql: Queryable,
  { minute, calls }: CallCounts,
): Promise<Map<string, number>> {
  // In one order in each process: none waits for another one that waits for it.
  const subjects = [...calls.keys()].toSorted()
  const counts = subjects.map((subject) => calls.get(subject) ?? 0)
  const rows = await sql<{ subject: string; calls: number }[]>`
    insert into api_calls as a (subject, minute, calls)
    select subject, ${minute}, calls
      from unnest(${subjects}::text[], ${counts}::int[]) as given (subject, calls)
    on conflict (subject) do update set minute = greatest(a.minute, excluded.minute),
      -- A process whose clock is behind neither counts for the new minute nor takes it back.
      calls = case when a.minute = excluded.minute then a.calls + excluded.calls
        when a.minute < excluded.minute then excluded.calls else a.calls end
    returning subject, case when minute = ${minute} then calls else 0 end as calls`
  return new Map(rows.map((row) => [row.subject, row.calls]))
}

/** Returns the rates of those organizations that have some of their own. */
export async function listOwnRates(
  sql: Queryable,
  organizationIds: readonly number[],
): Promise<Map<number, OwnRates>> {
  const rows = await sql<(OwnRates & { organizationId: number })[]>`
    select organization_id, token_calls, organization_calls from organization_limits
    where organization_id = any(${[...organizationIds]})`
  return new Map(rows.map((row) => [row.organizationId, row]))
}

/** Deletes the counts of those who have not called for an hour, and returns how many. */
export async function forgetCalls(sql: Queryable): Promise<number> {
  const { count } = await sql`
    delete from api_calls where minute < extract(epoch from now()) / 60 - ${FORGET_MINUTES}`
  return count
}

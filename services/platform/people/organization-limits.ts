import * as v from 'valibot'
import { integer } from '../../shared/env.ts'
import type { Queryable } from '../../shared/postgres/database.ts'

/** The most that a limit may be. */
export const LIMIT_MAX = 10_000_000

/** How much an organization may ask for; 0: as much as it likes. */
export interface Limits {
  /** Calls of the APIs in a minute with one token, or by one OAuth client. */
  readonly tokenCalls: number
  /** Calls of the APIs in a minute with all of them. */
  readonly organizationCalls: number
  /** Runs that wait in the queue. */
  readonly queuedRuns: number
}

/** The limits of one organization where they are its own; null: the platform's. */
export type OwnLimits = { readonly [Name in keyof Limits]: number | null }

/** The limits of an organization that has none of its own. */
const NO_OWN_LIMITS: OwnLimits = {
  tokenCalls: null,
  organizationCalls: null,
  queuedRuns: null,
}

/** A limit of one organization, on the wire; null: the platform's. */
export const ownLimit = v.nullable(
  v.pipe(
    v.number('must be a whole number, or null'),
    v.integer('must be a whole number'),
    v.minValue(0, 'must not be negative'),
    v.maxValue(LIMIT_MAX, `must be at most ${LIMIT_MAX}`),
  ),
)

/** The limits of one organization, on the wire. */
export const ownLimits = v.pipe(
  v.strictObject({
    token_calls_per_minute: v.optional(ownLimit, null),
    organization_calls_per_minute: v.optional(ownLimit, null),
    queued_runs: v.optional(ownLimit, null),
  }),
  v.transform((given): OwnLimits => ({
    tokenCalls: given.token_calls_per_minute,
    organizationCalls: given.organization_calls_per_minute,
    queuedRuns: given.queued_runs,
  })),
)

/** The variable with the runs that each organization may have queued, of web and workers. */
export const queueLimitEnv = { QUEUED_RUNS_MAX: v.optional(integer(0, LIMIT_MAX), '10000') }

/** Returns the limits of an organization where they are its own. */
export async function findOwnLimits(sql: Queryable, organizationId: number): Promise<OwnLimits> {
  const limitsOf = await listOwnLimits(sql, [organizationId])
  return limitsOf(organizationId)
}

/** Returns what has the limits of each of these organizations. */
export async function listOwnLimits(
  sql: Queryable,
  organizationIds: readonly number[],
): Promise<(organizationId: number) => OwnLimits> {
  const rows = await sql<(OwnLimits & { organizationId: number })[]>`
    select organization_id, token_calls, organization_calls, queued_runs from organization_limits
    where organization_id = any(${organizationIds}::int[])`
  const known = new Map(rows.map(({ organizationId, ...limits }) => [organizationId, limits]))
  return (organizationId) => known.get(organizationId) ?? NO_OWN_LIMITS
}

/** Gives an organization limits of its own, or with nulls takes them back. */
export async function saveOwnLimits(
  sql: Queryable,
  organizationId: number,
  limits: OwnLimits,
): Promise<void> {
  const { tokenCalls, organizationCalls, queuedRuns } = limits
  await sql`
    insert into organization_limits (organization_id, token_calls, organization_calls, queued_runs)
    values (${organizationId}, ${tokenCalls}, ${organizationCalls}, ${queuedRuns})
    on conflict (organization_id) do update set token_calls = excluded.token_calls,
      organization_calls = excluded.organization_calls, queued_runs = excluded.queued_runs,
      updated_at = now()`
}

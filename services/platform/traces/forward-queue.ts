import type { Database, Queryable } from '../../shared/postgres/database.ts'
import type { AllowedRegions } from '../connections/regions.ts'
import { pauseTraceForward } from './trace-forwards.ts'

/** A forward that a worker holds. */
export interface ForwardLease {
  readonly id: string
  readonly leaseId: string
}

/** What it takes to forward the next spans. */
export interface DueForward {
  readonly id: string
  readonly organizationId: number
  readonly endpoint: string
  readonly sealedHeaders: Buffer | null
  readonly share: number
  readonly services: readonly string[]
  readonly region: string | null
  readonly allowedRegions: AllowedRegions
  /** Null: it has not begun. */
  readonly cursor: string | null
  readonly spansMax: number
  readonly tries: number
}

const TELL_SECONDS = 60

/** The condition under which a worker has spans to forward, or the collector is to be told. */
export const hasDueForwards = (sql: Queryable) => sql`
  exists (
    select from trace_forwards where due_at <= now() and paused_at is null
    union all
    select from trace_forwarding
    where organizations <> '{}' and told_at < now() - make_interval(secs => ${TELL_SECONDS}))`

/** Returns true while there is a forward, also one that waits. */
export async function hasForwards(sql: Queryable): Promise<boolean> {
  const found = await sql`select from trace_forwards where paused_at is null limit 1`
  return found.length > 0
}

/** Takes up to `limit` forwards that are due, those that fail last; no two workers hold one. */
export const takeForwards = (
  sql: Queryable,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<ForwardLease[]> =>
  sql<ForwardLease[]>`
    update trace_forwards f set lease_id = gen_random_uuid(),
      due_at = now() + make_interval(secs => ${leaseSeconds})
    where id in (
      select id from trace_forwards
      where due_at <= now() and paused_at is null and organization_id = any (
        (select organizations from trace_forwarding)::int[])
      order by tries > 0, due_at limit ${limit} for update skip locked)
    returning id, lease_id`

const held = (sql: Queryable, { id, leaseId }: ForwardLease) => sql`
  id = ${id} and lease_id = ${leaseId}`

/** Renews a lease; undefined when another worker has it, or it is paused or deleted. */
export async function renewForward(
  sql: Queryable,
  lease: ForwardLease,
  leaseSeconds: number,
): Promise<DueForward | undefined> {
  const [found] = await sql<DueForward[]>`
    update trace_forwards f set due_at = now() + make_interval(secs => ${leaseSeconds})
    from organizations o
    where f.id = ${lease.id} and lease_id = ${lease.leaseId} and paused_at is null
      and o.id = f.organization_id
    returning f.id, organization_id, endpoint, sealed_headers, share, services, f.region,
      o.allowed_regions, cursor, spans_max, tries`
  return found
}

/** Gives a forward back; it is due again after so many seconds. */
export async function releaseForward(
  sql: Queryable,
  lease: ForwardLease,
  delaySeconds: number,
): Promise<void> {
  await sql`
    update trace_forwards set lease_id = null,
      due_at = now() + make_interval(secs => ${delaySeconds})
    where ${held(sql, lease)}`
}

/** What the receiver took. */
export interface Forwarded {
  /** The place behind it. */
  readonly cursor: string
  readonly accepted: number
  readonly rejected: number
  /** What the receiver said of what it did not take. */
  readonly problem: string | null
  /** The commit of the oldest span that waits still; null: none does. */
  readonly waitingSince: Date | null
}

/** Stores how far all was accepted; only the worker that holds it moves that. */
export async function settleForwarded(
  sql: Queryable,
  lease: ForwardLease,
  { cursor, accepted, rejected, problem, waitingSince }: Forwarded,
): Promise<void> {
  await sql`
    update trace_forwards set cursor = ${cursor}, began_at = coalesce(began_at, now()),
      forwarded = forwarded + ${accepted}, rejected = rejected + ${rejected}, tries = 0,
      spans_max = least(1000, spans_max + 20), failing_since = null, problem = ${problem},
      waiting_since = ${waitingSince}
    where ${held(sql, lease)}`
}

/** Sends less at a time from now on. */
export async function shrinkForward(
  sql: Queryable,
  lease: ForwardLease,
  spansMax: number,
): Promise<void> {
  await sql`update trace_forwards set spans_max = ${spansMax} where ${held(sql, lease)}`
}

/** A try that the receiver did not accept. */
interface RefusedForward {
  readonly problem: string
  readonly waitingSince: Date | null
  readonly delaySeconds: number
  /** Why nothing will be accepted; undefined: it is tried again. */
  readonly pausedFor: string | undefined
}

/** Stores why a try failed, and gives the forward back. */
export async function settleRefusedForward(
  sql: Database,
  lease: ForwardLease,
  { problem, waitingSince, delaySeconds, pausedFor }: RefusedForward,
): Promise<void> {
  await sql.begin(async (tx) => {
    const { count } = await tx`
      update trace_forwards set tries = tries + 1, problem = ${problem.slice(0, 1000)},
        failing_since = coalesce(failing_since, now()), waiting_since = ${waitingSince},
        lease_id = null, due_at = now() + make_interval(secs => ${delaySeconds})
      where ${held(tx, lease)}`
    if (count > 0 && pausedFor !== undefined) {
      await pauseTraceForward(tx, lease, pausedFor.slice(0, 1000))
    }
  })
}

/** An organization whose spans are forwarded, and the first place that is needed still. */
export interface NeededSpans {
  readonly organization: string
  readonly first: string
}

/**
 * Tells the collector whose spans are forwarded once that has changed, and each minute what it may
 * forget. One worker at a time does, so that no former list comes after a later one.
 */
export async function tellForwarding(
  sql: Database,
  tell: (needed: readonly NeededSpans[]) => Promise<void>,
): Promise<void> {
  await sql.begin(async (tx) => {
    const due = await tx`
      select from trace_forwarding
      where organizations <> (${organizationsOf(tx)})
        or told_at < now() - make_interval(secs => ${TELL_SECONDS}) and organizations <> '{}'
      for update skip locked`
    if (due.length === 0) return
    const needed = await tx<NeededSpans[]>`
      select organization_id::text as organization,
        coalesce(min(split_part(cursor, '.', 1)::int8), 0)::text as first
      from trace_forwards group by organization_id order by organization_id`
    await tell(needed)
    const told = needed.map(({ organization }) => Number(organization))
    await tx`update trace_forwarding set organizations = ${told}::int[], told_at = now()`
  })
}

const organizationsOf = (sql: Queryable) => sql`
  select coalesce(array_agg(distinct organization_id order by organization_id), '{}')
  from trace_forwards`

/** How far forwards are behind. */
export interface ForwardLag {
  /** The age of the oldest span that waits for one that is not paused. */
  readonly oldestSeconds: number
  readonly paused: number
}

/** A forward whose spans do not arrive. */
interface LateForward {
  readonly name: string
  readonly organization: string
}

const LATE_MINUTES = 10

/**
 * Returns up to `limit` forwards that the platform paused, or whose receiver takes nothing or keeps
 * spans waiting for ten minutes; those that fail first.
 */
export const listLateForwards = (sql: Queryable, limit: number): Promise<LateForward[]> =>
  sql<LateForward[]>`
    select f.name, o.name as organization
    from trace_forwards f join organizations o on o.id = f.organization_id
    where pause_reason is not null or paused_at is null
      and least(failing_since, waiting_since) < now() - make_interval(mins => ${LATE_MINUTES})
    order by pause_reason is null, failing_since, f.id limit ${limit}`

/** Measures how far forwards are behind. */
export async function measureForwards(sql: Queryable): Promise<ForwardLag> {
  const [lag] = await sql<[ForwardLag]>`
    select coalesce(extract(epoch from now() - min(waiting_since)
        filter (where paused_at is null)), 0)::float8 as oldest_seconds,
      (count(*) filter (where paused_at is not null))::int as paused
    from trace_forwards`
  return lag
}

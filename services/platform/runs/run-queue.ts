import type { Database, Queryable } from '../../shared/postgres/database.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import type { Failure, Usage } from './runs.ts'

/** The time that a worker owns a run without renewing the lease. */
export const LEASE_SECONDS = 30
/**
 * A run whose worker died or whose crew broke this often is given up: it may be what kills them.
 */
export const LOST_ATTEMPTS_MAX = 3

/** What a run is, whoever has it. */
export interface RunFacts {
  readonly id: string
  /** The number of times that a worker has taken it, this time included. */
  readonly attempt: number
  readonly inputs: Inputs
  readonly queuedAt: Date
  readonly automationId: string
  readonly automationName: string
  readonly slug: string
  readonly organizationId: number
  /** The version of its automation at the time of the kickoff. */
  readonly definition: CrewDefinition
}

/** A run that a worker owns for as long as it renews the lease. */
export interface LeasedRun extends RunFacts {
  readonly leaseId: string
  /** The earlier attempts that were lost; those that were handed over do not count. */
  readonly lostAttempts: number
  readonly deploymentId: number
  /** The id of the project version. */
  readonly projectVersionId: number
  /**
   * The address of the crew that performs it, and the automation from which that crew's token is
   * derived.
   */
  readonly url: string | null
  readonly crewAutomationId: string
}

/** The proof that a worker still owns a run, and what it knew of it when it took it. */
export type Lease = Pick<LeasedRun, 'id' | 'leaseId' | 'lostAttempts'>

/** Any number that nothing else locks: workers choose one after the other. */
const LOCK = 7_310_452_118
/** A worker that is cut off while it chooses holds up the others for so long. */
const CHOICE_TIMEOUT_MS = 5000

/**
 * Takes up to `limit` runs: queued ones, and those whose worker stopped renewing the lease. Two
 * workers never take the same one. Organizations take turns, those with the fewest runs in progress
 * first; so do the automations of each, and none exceeds its own limit.
 */
export async function takeRuns(sql: Database, limit: number): Promise<LeasedRun[]> {
  if (!(await hasDueRuns(sql))) return []
  return sql.begin(async (tx) => {
    // A statement of its own: the next one has to see what the worker before has taken.
    await tx`
      select set_config('idle_in_transaction_session_timeout', ${String(CHOICE_TIMEOUT_MS)}, true),
        pg_advisory_xact_lock(${LOCK})`
    return take(tx, limit)
  })
}

/** Two looks at indexes, and no lock: a kickoff wakes all workers, and most find nothing. */
async function hasDueRuns(sql: Database): Promise<boolean> {
  const due = await sql`
    select where exists (select from executions where status = 'queued' and available_at <= now())
      or exists (select from executions where status = 'running' and lease_expires_at < now())`
  return due.length > 0
}

/**
 * The one statement that chooses. Workers run it one after the other, so it can count what the
 * others have taken: `skip locked` alone would share the rows out, but knows neither turns nor a
 * limit for each automation.
 *
 * - `taken`: a new lease, which every later write of the worker has to present. A run that was
 *   `running` was lost, and counts one more lost attempt.
 * - `turns`: the time of the choice, not `now()`, which is when the wait for the lock began.
 *
 * The last part adds all that a worker needs to begin.
 */
function take(sql: Queryable, limit: number) {
  return sql<LeasedRun[]>`
    ${choose(sql, limit)},
    taken as (
      update executions e set status = 'running', attempt = attempt + 1,
        lost_attempts = lost_attempts + (e.status = 'running')::int, lease_id = gen_random_uuid(),
        lease_expires_at = now() + make_interval(secs => ${LEASE_SECONDS}),
        started_at = coalesce(started_at, now())
      from due where e.id = due.id
      returning e.id, e.lease_id, e.attempt, e.lost_attempts, e.inputs, e.queued_at,
        e.deployment_id, e.project_version_id),
    turns as (
      insert into queue_turns
      select distinct deployment_id, (select clock_timestamp()) from taken
      on conflict (deployment_id) do update set taken_at = excluded.taken_at)
    select t.id, t.lease_id, t.attempt, t.lost_attempts, t.inputs, t.queued_at, t.deployment_id,
      t.project_version_id, d.automation_id, d.name as automation_name, d.slug, d.organization_id,
      crew.url, crew.automation_id as crew_automation_id, v.definition
    from taken t join deployments d on d.id = t.deployment_id
      join deployments crew on crew.id = coalesce(d.runs_on, d.id)
      join project_versions v on v.id = t.project_version_id
    order by t.queued_at`
}

/**
 * Locks the runs to take, in `due`.
 *
 * - `busy`: the runs in progress, by automation. A run whose lease ran out is none of them: its
 *   worker is lost, and it waits again.
 * - `lines`: each automation is a line of its own, beside what its organization has in progress.
 *   The runs of an automation that was stopped wait, and so do those of a crew from source that is
 *   to come up.
 * - `heads`: the first `limit` runs of each line. Two reads, because queued runs and lost ones are
 *   in two partial indexes, which an `or` would not use. So the cost grows with the automations,
 *   not with the runs that wait; `between` instead of `=`, because only the index of lines has the
 *   order that it asks for: PostgreSQL would read all that wait, once for each line, by their age.
 *   `turn` is the number of runs that the automation would then have in progress: none exceeds its
 *   own limit.
 * - `waiting`: the same for organizations. Within one the idlest automation is first, then the one
 *   whose last start is the longest ago, then age. Runs in progress alone would not do: where there
 *   are more automations than slots, all that wait have none.
 * - `due`: the first `limit` of all, by organizations likewise. They are locked here, because a run
 *   may be stopped, or its lease renewed, by somebody who does not choose; `skip locked` leaves
 *   such a run to the next look instead of waiting for it. The status is checked again, because a
 *   granted lock shows the newest row, not the one that was read above.
 */
const choose = (sql: Queryable, limit: number) => sql`
  with busy as (
    select deployment_id, count(*) as running from executions
    where status = 'running' and lease_expires_at >= now() group by deployment_id),
  lines as (
    select d.id, d.organization_id, coalesce(d.concurrency_max, 2147483647) as concurrency_max,
      coalesce(b.running, 0) as running, t.taken_at,
      coalesce(sum(b.running) over organization, 0) as organization_running,
      max(t.taken_at) over organization as organization_taken_at,
      d.halted_at is null
        and (d.status not in ('Crew is Provisioning', 'Crew is Offline') or not exists (
          select from crew_deployments c
          where c.deployment_id = d.id and c.ended_at is null)) as is_open
    from deployments d left join busy b on b.deployment_id = d.id
      left join queue_turns t on t.deployment_id = d.id
    window organization as (partition by d.organization_id)),
  heads as (
    select l.*, e.id as execution_id, e.available_at,
      l.running + row_number() over (partition by l.id order by e.available_at) as turn
    from lines l cross join lateral (
      (select id, available_at from executions
        where deployment_id between l.id and l.id and status = 'queued'
          and available_at <= now()
        order by deployment_id, available_at limit ${limit})
      union all
      (select id, available_at from executions
        where deployment_id = l.id and status = 'running' and lease_expires_at < now()
          and lost_attempts + 1 < ${LOST_ATTEMPTS_MAX}
        order by available_at limit ${limit})) e
    where l.is_open and l.running < l.concurrency_max),
  waiting as (
    select execution_id, available_at, organization_taken_at,
      organization_running + row_number() over (
        partition by organization_id
        order by turn, taken_at nulls first, available_at) as organization_turn
    from heads where turn <= concurrency_max),
  due as (
    select id from executions
    where id in (
        select execution_id from waiting
        order by organization_turn, organization_taken_at nulls first, available_at
        limit ${limit})
      and (status = 'queued' or (status = 'running' and lease_expires_at < now()))
    for update skip locked)`

/** A run that was ended because its workers died too often. */
export interface LostRun extends RunFacts {
  readonly failure: Failure
}

/** Ends the runs whose workers died too often, and returns them. */
export async function giveUpLostRuns(sql: Queryable): Promise<LostRun[]> {
  const failure: Failure = {
    code: 'worker_lost',
    message:
      `The worker that ran this was lost ${LOST_ATTEMPTS_MAX} times. Look at the workers' logs, ` +
      'then start it again.',
  }
  return sql<LostRun[]>`
    with lost as (
      update executions set status = 'error', error = ${sql.json({ ...failure })},
        finished_at = now(), lease_id = null, lease_expires_at = null
      where status = 'running' and lease_expires_at < now()
        and lost_attempts + 1 >= ${LOST_ATTEMPTS_MAX}
      returning id, attempt, inputs, queued_at, deployment_id, project_version_id, error)
    select l.id, l.attempt, l.inputs, l.queued_at, l.error as failure, d.automation_id,
      d.name as automation_name, d.slug, d.organization_id, v.definition
    from lost l join deployments d on d.id = l.deployment_id
      join project_versions v on v.id = l.project_version_id`
}

/**
 * Renews a lease. Returns false when the run is no longer this worker's: it was stopped, or another
 * took it over.
 */
export async function renewLease(sql: Queryable, { id, leaseId }: Lease): Promise<boolean> {
  const renewed = await sql`
    update executions set lease_expires_at = now() + make_interval(secs => ${LEASE_SECONDS})
    where id = ${id} and lease_id = ${leaseId} returning id`
  return renewed.length > 0
}

/**
 * Hands a run over to the next worker, due after `delaySeconds`, or at once and in its old place in
 * line. Its progress stays, and the attempt does not count as lost. For a worker or
 * a crew that is being replaced.
 */
export async function releaseRun(
  sql: Queryable,
  { id, leaseId }: Lease,
  delaySeconds = 0,
): Promise<boolean> {
  const available =
    delaySeconds > 0 ? sql`, available_at = now() + make_interval(secs => ${delaySeconds})` : sql``
  const released = await sql`
    with released as (
      update executions set status = 'queued', lease_id = null, lease_expires_at = null
        ${available}
      where id = ${id} and lease_id = ${leaseId} returning id)
    select pg_notify('execution_queued', '') from released`
  return released.length > 0
}

/**
 * Gives a run back that was taken and not begun, as if nobody had taken it: the attempt does not
 * count.
 */
export async function putBackRun(sql: Queryable, { id, leaseId }: Lease): Promise<boolean> {
  const back = await sql`
    with back as (
      update executions set status = 'queued', lease_id = null, lease_expires_at = null,
        attempt = attempt - 1, started_at = case when attempt > 1 then started_at end
      where id = ${id} and lease_id = ${leaseId} returning id)
    select pg_notify('execution_queued', '') from back`
  return back.length > 0
}

/**
 * Gives a run back to the queue for its next attempt, due after `delaySeconds`. For a run that
 * broke in the middle.
 */
export async function retryRun(
  sql: Queryable,
  { id, leaseId }: Lease,
  delaySeconds: number,
): Promise<boolean> {
  const queued = await sql`
    update executions set status = 'queued', lease_id = null, lease_expires_at = null,
      lost_attempts = lost_attempts + 1,
      available_at = now() + make_interval(secs => ${delaySeconds})
    where id = ${id} and lease_id = ${leaseId} returning id`
  return queued.length > 0
}

/** An event of a run, as the database keeps it. */
export interface ProgressEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** Stores the result of a run, once. Returns false when the run is no longer this worker's. */
export async function completeRun(
  sql: Queryable,
  { id, leaseId }: Lease,
  { output, usage }: { output: string; usage: Usage },
): Promise<boolean> {
  const completed = await sql`
    update executions set status = 'completed', output = ${output},
      usage = ${sql.json({ ...usage })}, finished_at = now(),
      lease_id = null, lease_expires_at = null
    where id = ${id} and lease_id = ${leaseId} returning id`
  return completed.length > 0
}

/** Ends a run with an error, once. Returns false when the run is no longer this worker's. */
export async function failRun(
  sql: Queryable,
  { id, leaseId }: Lease,
  failure: Failure,
): Promise<boolean> {
  const failed = await sql`
    update executions set status = 'error', error = ${sql.json({ ...failure })},
      finished_at = now(), lease_id = null, lease_expires_at = null
    where id = ${id} and lease_id = ${leaseId} returning id`
  return failed.length > 0
}

import type { Queryable } from '../../shared/postgres/database.ts'
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
  /** Earlier attempts, or the run that it follows, may have left steps. */
  readonly mayHaveSteps: boolean
  /**
   * The address of the crew that performs it, and the automation from which that crew's token is
   * derived.
   */
  readonly url: string | null
  readonly crewAutomationId: string
}

/** The proof that a worker still owns a run, and what it knew of it when it took it. */
export type Lease = Pick<LeasedRun, 'id' | 'leaseId' | 'lostAttempts'>

/** More are taken in several takes, each of which knows what the one before has taken. */
const TAKEN_AT_ONCE = 10
/** Each look takes a run, or passes a line whose runs others are taking. */
const LOOKS_MAX = 200

/**
 * Takes up to `limit` runs that are due: queued ones, and those whose worker stopped renewing the
 * lease. Two workers never take the same one. Organizations take turns, those with the fewest runs
 * in progress first; so do the automations of each, and none exceeds its own limit. Where there is
 * nothing left to take, the idle worker is entered among those that are called for a run, and
 * hears the time until there may be something again.
 */
export async function takeRuns(
  sql: Queryable,
  limit: number,
  idle?: IdleWorker,
): Promise<LeasedRun[]> {
  const runs: LeasedRun[] = []
  const passed: number[] = []
  try {
    for (let looks = 0; looks < LOOKS_MAX && runs.length < limit; looks += 1) {
      if (!(await mayTake(sql, idle))) break
      const rows = await take(sql, Math.min(limit - runs.length, TAKEN_AT_ONCE), passed)
      if (rows.length === 0) break
      for (const row of rows) {
        if (row.id === null) passed.push(row.deploymentId)
        else runs.push(row)
      }
    }
  } catch (thrown) {
    // What was taken is this worker's, whatever became of the next take.
    if (runs.length === 0) throw thrown
  }
  return runs
}

/** A worker that is called when there is a run for it. */
interface IdleWorker {
  /** A channel of its own: `queue_` and a UUID. */
  readonly channel: string
  readonly onEmpty: (nextMs: number) => void
}

/** Returns false, and says when to look again, where no run may start. */
async function mayTake(sql: Queryable, idle: IdleWorker | undefined): Promise<boolean> {
  let found = await look(sql, idle)
  // It was entered, or something became due: who queued a run before that could not call it.
  if (!found.mayStart && (found.nextMs ?? Infinity) <= 0) found = await look(sql, idle)
  if (!found.mayStart) idle?.onEmpty(found.nextMs ?? Infinity)
  return found.mayStart
}

interface Look {
  /** False: no run may start. */
  readonly mayStart: boolean
  /** Null: nothing is known to become due. */
  readonly nextMs: number | null
}

/** Counts what has changed since the last look. */
async function look(sql: Queryable, idle: IdleWorker | undefined): Promise<Look> {
  const [found] = idle
    ? await sql<[Look]>`
        select may_start, next_ms from look_at_queue(${LOST_ATTEMPTS_MAX}, ${idle.channel})`
    : await sql<[Look]>`select may_start, next_ms from look_at_queue(${LOST_ATTEMPTS_MAX})`
  return found
}

/** Has other workers called for runs instead of this one, until a look of it finds none again. */
export const leaveQueue = (sql: Queryable, channel: string) => sql`select leave_queue(${channel})`

/** A line that gave no run: others are taking what is in it, or it was closed meanwhile. */
interface EmptyLine {
  readonly deploymentId: number
  readonly id: null
}

/**
 * Takes runs with a new lease each, which every later write of the worker has to present, and adds
 * all that a worker needs to begin.
 */
function take(sql: Queryable, wanted: number, passed: readonly number[]) {
  return sql<(LeasedRun | EmptyLine)[]>`
    select t.*, d.automation_id, d.name as automation_name, d.slug, d.organization_id, crew.url,
      crew.automation_id as crew_automation_id, v.definition,
      t.attempt > 1 or (select origin_action in ('retry', 'fork') from executions where id = t.id)
        is true as may_have_steps
    from take_runs(${wanted}, make_interval(secs => ${LEASE_SECONDS}), ${passed}::int[]) t
      join deployments d on d.id = t.deployment_id
      join deployments crew on crew.id = coalesce(d.runs_on, d.id)
      left join project_versions v on v.id = t.project_version_id
    order by t.queued_at`
}

/** A run that was ended because its workers died too often. */
export interface LostRun extends RunFacts {
  readonly failure: Failure
}

const isGivenUp = (sql: Queryable) => sql`
  status = 'running' and lease_due_at < now() and lease_expires_at < now()
    and lost_attempts + 1 >= ${LOST_ATTEMPTS_MAX}`

/** Holds while there are runs whose workers died too often. */
export const hasLostRuns = (sql: Queryable) => sql`
  exists (select from executions where ${isGivenUp(sql)})`

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
      where ${isGivenUp(sql)}
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
    select call_workers() from released`
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
    select call_workers() from back`
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

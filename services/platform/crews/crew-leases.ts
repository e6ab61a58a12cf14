import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { automationColumns } from '../automations/automations.ts'
import type { Automation } from '../automations/automations.ts'
import { crewDeploymentColumns } from './crew-deployments.ts'
import type { CrewDeployment } from './crew-deployments.ts'
import type { OwnCrewKey, ScaleSettings, WantedLife } from './crew-settings.ts'

/** The time that a worker owns a crew without renewing the lease. */
export const CREW_LEASE_SECONDS = 30

/** The proof that a worker alone looks after a crew. */
export interface CrewLease extends OwnCrewKey {
  readonly leaseId: string
}

/** An automation from source that a worker looks after for as long as it renews the lease. */
export interface LeasedCrew extends CrewLease, ScaleSettings, WantedLife {
  /** Another number later means that people have changed what they want. */
  readonly change: number
  readonly automation: Automation
  /** What is to run: the newest deployment that has not ended. Absent: nothing. */
  readonly wanted: CrewDeployment | undefined
  /** What runs until the wanted one is online. */
  readonly serving: CrewDeployment | undefined
}

interface TakenRow extends CrewLease, ScaleSettings, WantedLife {
  readonly change: number
}

const isLookDue = (sql: Queryable) => sql`
  due_at <= now() and (lease_until is null or lease_until < now())`

/** The condition under which a worker has a crew to look after. */
export const hasDueCrews = (sql: Queryable) => sql`
  (exists (select from crew_settings where ${isLookDue(sql)})
    or exists (select from crew_settings s where ${sleepsThroughRuns(sql)}))`

/**
 * Takes the automation from source that has been due for longest and that no other worker looks
 * after, if there is one.
 */
export async function takeCrew(sql: Database): Promise<LeasedCrew | undefined> {
  const [taken] = await sql<TakenRow[]>`
    update crew_settings s set lease_id = gen_random_uuid(),
      lease_until = now() + make_interval(secs => ${CREW_LEASE_SECONDS})
    where s.deployment_id = (
      select deployment_id from crew_settings
      where ${isLookDue(sql)}
      order by due_at limit 1 for update skip locked)
    returning s.deployment_id, s.lease_id, s.change, s.replicas, s.idle_minutes, s.stopped_at,
      s.restarted_at, s.removing_since`
  if (!taken) return undefined
  const { deploymentId } = taken
  const [automation] = await sql<[Automation]>`
    select ${automationColumns(sql)} from deployments where id = ${deploymentId}`
  const [wanted, serving] = await sql<CrewDeployment[]>`
    select ${crewDeploymentColumns(sql)} from crew_deployments c
    where c.deployment_id = ${deploymentId} and c.ended_at is null
    order by c.number desc limit 2`
  return { ...taken, automation, wanted, serving }
}

/**
 * Renews a lease. Returns the number of the last change, or undefined once another worker looks
 * after the crew, or it is gone.
 */
export async function renewCrew(
  sql: Queryable,
  { deploymentId, leaseId }: CrewLease,
): Promise<number | undefined> {
  const [renewed] = await sql<{ change: number }[]>`
    update crew_settings
    set lease_until = now() + make_interval(secs => ${CREW_LEASE_SECONDS})
    where deployment_id = ${deploymentId} and lease_id = ${leaseId} returning change`
  return renewed?.change
}

/**
 * Ends a lease. A worker looks at the crew again after `dueInSeconds`, and at once when people
 * have changed something since it was taken.
 */
export async function releaseCrew(
  sql: Queryable,
  { deploymentId, leaseId, change }: CrewLease & Pick<LeasedCrew, 'change'>,
  dueInSeconds: number,
): Promise<void> {
  await sql`
    update crew_settings set lease_id = null, lease_until = null,
      due_at = case when change = ${change} then now() + make_interval(secs => ${dueInSeconds})
        else now() end
    where deployment_id = ${deploymentId} and lease_id = ${leaseId}`
}

/** The runs of an automation, for whoever decides whether its crew may sleep. */
interface CrewDemand {
  /** Those that are queued or go on, or are to be performed again. */
  readonly open: number
  /** When the last one ended; null: there was none. */
  readonly lastEndedAt: Date | null
}

/** Returns what an automation's crew has to do, and when it last did something. */
export async function findDemand(sql: Queryable, { deploymentId }: OwnCrewKey) {
  const [demand] = await sql<[CrewDemand]>`
    select
      (select count(*)::int from executions
        where deployment_id = ${deploymentId} and status in ('queued', 'running'))
        + (select count(*)::int from replay_runs r join replays p on p.id = r.replay_id
          where p.deployment_id = ${deploymentId} and r.finished_at is null) as open,
      (select max(finished_at) from executions where deployment_id = ${deploymentId})
        as last_ended_at`
  return demand
}

const sleepsThroughRuns = (sql: Queryable) => sql`
  s.due_at > now() and s.stopped_at is null
  and exists (
    select from crew_deployments c
    where c.deployment_id = s.deployment_id and c.ended_at is null and c.asleep_since is not null)
  and (exists (
    select from executions e
    where e.deployment_id = s.deployment_id and e.status in ('queued', 'running'))
    or exists (
      select from replay_runs r join replays p on p.id = r.replay_id
      where p.deployment_id = s.deployment_id and r.finished_at is null))`

/** Has workers look at once at the crews that sleep while runs wait for them. */
export async function wakeSleepers(sql: Queryable): Promise<number> {
  const { count } = await sql`
    update crew_settings s set due_at = now(), change = change + 1
    where ${sleepsThroughRuns(sql)}`
  return count
}

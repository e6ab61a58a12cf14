import type { Queryable } from '../../shared/postgres/database.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import type { StepUsage } from '../crew-contract/crew-protocol.ts'
import type { Replay } from './replays.ts'
import type { StepKind } from '../crew-contract/step-key.ts'

/** The time that a worker has for a run, in which no model is asked, or some are. */
const LEASE_SECONDS = { offline: 150, live: 660 }

/** A run that a worker is to perform again, until its lease ends. */
export interface TakenReplay {
  readonly replayId: string
  readonly runId: string
  readonly organizationId: number
  readonly deploymentId: number
  readonly mode: Replay['mode']
  readonly leaseId: string
  /** How often it was taken, this time included. */
  readonly attempt: number
  readonly definition: CrewDefinition
  readonly versionId: number
  /** The address of the crew that would run the version. */
  readonly url: string | null
  /** The version that the automation runs now. */
  readonly runsVersionId: number
  /** Its crew sleeps, and is being woken. */
  readonly isAsleep: boolean
  readonly crewAutomationId: string
}

const isDue = (sql: Queryable) => sql`(
  (state = 'queued' and available_at <= now()) or (state = 'running' and lease_expires_at < now()))`

/** The condition under which a worker has a run to perform again. */
export const hasDueReplays = (sql: Queryable) => sql`
  exists (select from replay_runs where ${isDue(sql)})`

/**
 * Takes runs that are to be performed again, of each replay in turn. A crew from a source has few
 * places, which its own runs need: one look takes some for it, and the next ones wait for their
 * end.
 */
export async function takeReplays(sql: Queryable, limit: number): Promise<TakenReplay[]> {
  const leases = JSON.stringify(LEASE_SECONDS)
  return sql<TakenReplay[]>`
    with busy as materialized (
      select distinct p.deployment_id from replay_runs r join replays p on p.id = r.replay_id
        join project_versions v on v.id = p.version_id
      where r.state = 'running' and r.lease_expires_at >= now()
        and v.definition -> 'agents' = '[]'),
    due as (
      select replay_id, run_id from replay_runs r
      where ${isDue(sql)} and not exists (
        select from replays p join busy b on b.deployment_id = p.deployment_id
        where p.id = r.replay_id)
      order by position, replay_id limit ${limit} for update skip locked),
    taken as (
      update replay_runs r set state = 'running', attempt = attempt + 1,
        lease_id = gen_random_uuid(), started_at = now(),
        lease_expires_at = now()
          + make_interval(secs => (${leases}::text::jsonb ->> p.mode)::float8)
      from due d join replays p on p.id = d.replay_id
      where r.replay_id = d.replay_id and r.run_id = d.run_id returning r.*)
    select t.replay_id, t.run_id, p.organization_id, p.deployment_id, p.mode, t.lease_id,
      t.attempt, v.definition, v.id as version_id, crew.url,
      d.project_version_id as runs_version_id,
      exists (select from crew_deployments
        where deployment_id = d.id and ended_at is null and asleep_since is not null) as is_asleep,
      crew.automation_id as crew_automation_id
    from taken t join replays p on p.id = t.replay_id
      join project_versions v on v.id = p.version_id
      join deployments d on d.id = p.deployment_id
      join deployments crew on crew.id = coalesce(d.runs_on, d.id)
    order by t.position, t.replay_id`
}

/** Gives a run back, due after some time; the attempt does not count. */
export async function putBackReplay(
  sql: Queryable,
  taken: TakenReplay,
  delaySeconds = 0,
): Promise<void> {
  await sql`
    update replay_runs set state = 'queued', attempt = attempt - 1, lease_id = null,
      lease_expires_at = null, available_at = now() + make_interval(secs => ${delaySeconds})
    where ${isOurs(sql, taken)}`
}

/** Gives a run back whose crew broke. */
export async function retryReplay(sql: Queryable, taken: TakenReplay): Promise<void> {
  await sql`
    update replay_runs set state = 'queued', lease_id = null, lease_expires_at = null
    where ${isOurs(sql, taken)}`
}

/** A step, by where it is in its run. */
export interface ReplayedStep {
  readonly kind: StepKind
  readonly name: string
  readonly path: readonly string[]
}

/** What a replay of a run found. */
export interface ReplayResult {
  readonly state: 'equal' | 'different' | 'impossible'
  readonly reason?: string | undefined
  /** The first step that differs. */
  readonly step?: ReplayedStep | undefined
  /** Where the request is that was recorded for it. */
  readonly recordedRequest?: Buffer | undefined
  /** What was asked instead. */
  readonly request?: unknown
  readonly output?: string | undefined
  readonly usage?: StepUsage | undefined
  /** What the models took that were asked; undefined: none was. */
  readonly asked?: Asked | undefined
}

/** What models took that a replay asked. */
export interface Asked {
  readonly tokens: number
  /** null: one has no price. */
  readonly usd: number | null
}

/** Stores what a replay of a run found, if the run is still this worker's. */
export async function finishReplay(
  sql: Queryable,
  taken: TakenReplay,
  { state, reason, step, recordedRequest, request, output, usage, asked }: ReplayResult,
): Promise<void> {
  await sql`
    update replay_runs set state = ${state}, finished_at = now(), lease_id = null,
      lease_expires_at = null, reason = ${reason ?? null},
      step = ${step ? JSON.stringify(step) : null}::text::jsonb,
      recorded_request = ${recordedRequest ?? null},
      request = ${request === undefined ? null : JSON.stringify(request)}::text::json,
      output = ${output ?? null},
      usage = ${usage ? JSON.stringify(usage) : null}::text::jsonb,
      asked_tokens = ${asked?.tokens ?? null},
      usd = ${asked?.usd?.toString() ?? null}::text::numeric
    where ${isOurs(sql, taken)}`
}

/** Keeps tokens of a live replay for a call. Returns false where too few are left. */
export async function reserveAsked(
  sql: Queryable,
  { replayId }: Pick<TakenReplay, 'replayId'>,
  tokens: number,
): Promise<boolean> {
  const { count } = await sql`
    update replays set asked_tokens = asked_tokens + ${tokens}::bigint
    where id = ${replayId} and mode = 'live' and asked_tokens + ${tokens}::bigint <= tokens_max`
  return count > 0
}

/** Corrects what was kept for calls by what they took. */
export async function settleAsked(
  sql: Queryable,
  { replayId }: Pick<TakenReplay, 'replayId'>,
  change: number,
): Promise<void> {
  await sql`
    update replays set asked_tokens = greatest(asked_tokens + ${change}::bigint, 0)
    where id = ${replayId}`
}

const isOurs = (sql: Queryable, { replayId, runId, leaseId }: TakenReplay) =>
  sql`replay_id = ${replayId} and run_id = ${runId} and lease_id = ${leaseId}`

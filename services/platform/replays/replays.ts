import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { isUuid } from '../automations/automations.ts'
import type { Automation } from '../automations/automations.ts'
import { pinReplayed } from '../projects/draft-tests.ts'
import { unlessHeld } from '../runs/run-retention.ts'

/** The most runs of a replay. */
export const REPLAYED_MAX = 1000
/**
 * The replays of an automation that are too many; a new one takes the place of the oldest. Those
 * that a hold keeps stay beside them.
 */
export const REPLAYS_MAX = 50
/** The replays of an organization that are in progress at a time. */
const IN_PROGRESS_MAX = 5

/** The most tokens that the models of a live replay take. */
export const REPLAY_TOKENS_MAX = 100_000_000

/** What happens where the record has no answer: a run ends there, or its model is asked. */
export const REPLAY_MODES = ['offline', 'live'] as const

/** How the last runs may have ended. */
export const REPLAYED_STATUSES = ['any', 'completed', 'error'] as const

/** The version that performs runs again, and which runs. */
export interface ReplayFields {
  /** The number of a version of the automation's project. */
  readonly version: number
  /** The newest runs that have ended. */
  readonly last: number
  readonly status: (typeof REPLAYED_STATUSES)[number]
  /** Only those of this version; null: of any. */
  readonly ofVersion: number | null
  /** These and no others, if there are some. */
  readonly kickoffIds: readonly string[]
  readonly mode: (typeof REPLAY_MODES)[number]
  /** What the models of a live one may take in all. */
  readonly tokensMax: number
}

/** What became of the runs of a replay. */
type ReplayCounts = Readonly<Record<'waiting' | 'equal' | 'different' | 'impossible', number>>

/** Runs that are performed again. */
export interface Replay extends ReplayFields, ReplayCounts {
  readonly id: string
  /** What the models took that were asked, those that are being asked included. */
  readonly askedTokens: number
  /** How many were chosen; those that were deleted since are in no count. */
  readonly runs: number
  readonly createdAt: Date
  readonly createdBy: string
  /** Null: it is in progress. */
  readonly finishedAt: Date | null
}

const selectReplays = (sql: Queryable, where: ReturnType<Queryable>) => sql<Replay[]>`
  select r.id, coalesce(v.number, v.copy_of) as version, r.last, r.status, r.of_version,
    r.kickoff_ids::text[] as kickoff_ids, r.mode, r.tokens_max::float8 as tokens_max,
    r.asked_tokens::float8 as asked_tokens, r.runs, r.created_at, r.created_by, c.waiting, c.equal,
    c.different, c.impossible, case when c.waiting = 0 then c.finished_at end as finished_at
  from replays r join project_versions v on v.id = r.version_id cross join lateral (
    select count(*) filter (where finished_at is null)::int as waiting,
      count(*) filter (where state = 'equal')::int as equal,
      count(*) filter (where state = 'different')::int as different,
      count(*) filter (where state = 'impossible')::int as impossible,
      coalesce(max(finished_at), r.created_at) as finished_at
    from replay_runs where replay_id = r.id) c
  where ${where} order by r.created_at desc, r.id`

/** Returns the replays of an automation, newest first. */
export const listReplays = (sql: Queryable, deploymentId: number): Promise<Replay[]> =>
  selectReplays(sql, sql`r.deployment_id = ${deploymentId}`)

/** Returns a replay of an automation, if it exists. */
export async function findReplay(
  sql: Queryable,
  { id, deploymentId }: { readonly id: string; readonly deploymentId: number },
): Promise<Replay | undefined> {
  const [found] = await selectReplays(sql, sql`r.id = ${id} and r.deployment_id = ${deploymentId}`)
  return found
}

/** Returns true for a replay of an organization. */
export async function isReplayOf(
  sql: Queryable,
  { id, organizationId }: { readonly id: string; readonly organizationId: number },
): Promise<boolean> {
  const found = await sql`
    select from replays where id = ${id} and organization_id = ${organizationId}`
  return found.length > 0
}

/**
 * Deletes a replay with its results; what of it is in progress is given up. Raises `conflict` for
 * one with an outcome that a hold keeps.
 */
export async function deleteReplay(sql: Queryable, { id }: Pick<Replay, 'id'>): Promise<void> {
  await unlessHeld('outcomes of this replay', sql`delete from replays where id = ${id}`)
}

/** Gives up what of a replay is not done yet. */
export async function giveUpReplay(sql: Queryable, id: string): Promise<void> {
  await sql`delete from replay_runs where replay_id = ${id} and finished_at is null`
}

type OfAutomation = Pick<Automation, 'id' | 'organizationId' | 'projectVersionId'>

/**
 * Lets workers perform runs of an automation again. Raises `unprocessable` for a version that its
 * project does not have or no platform can replay, and where no run is chosen; `conflict` while
 * the organization has as many replays in progress as it may.
 */
export async function createReplay(
  sql: Queryable,
  automation: OfAutomation,
  { createdBy, ...fields }: ReplayFields & { readonly createdBy: string },
): Promise<Replay> {
  const { id: deploymentId, organizationId } = automation
  // One after the other, so that no two exceed what may be in progress.
  await sql`select from organizations where id = ${organizationId} for no key update`
  await refuseMany(sql, organizationId)
  const versionId = await pinReplayed(sql, automation, fields.version)
  const ids = await chooseRuns(sql, deploymentId, fields)
  const { last, status, ofVersion, mode, tokensMax } = fields
  const kickoffIds = [...fields.kickoffIds]
  const chosen = { last, status, ofVersion, kickoffIds, mode, tokensMax, runs: ids.length }
  const row = { organizationId, deploymentId, versionId, createdBy, ...chosen }
  const [{ id }] = await sql<[{ id: string }]>`insert into replays ${sql(row)} returning id`
  await sql`
    insert into replay_runs (replay_id, run_id, position)
    select ${id}, run_id, place - 1
    from unnest(${ids}::uuid[]) with ordinality as chosen (run_id, place)`
  await sql`
    delete from replays r where id in (
      select id from replays where deployment_id = ${deploymentId}
      order by created_at desc, id offset ${REPLAYS_MAX - 1})
      and not replay_is_held(r)`
  // A crew that sleeps is woken.
  await sql`select pg_notify('crew_deployments', ${deploymentId}::text)`
  const [made] = await selectReplays(sql, sql`r.id = ${id}`)
  if (!made) throw new Error('a replay that was just made is not there')
  return made
}

async function refuseMany(sql: Queryable, organizationId: number): Promise<void> {
  const [{ count }] = await sql<[{ count: number }]>`
    select count(*)::int as count from replays r
    where organization_id = ${organizationId} and exists (
      select from replay_runs where replay_id = r.id and finished_at is null)`
  if (count < IN_PROGRESS_MAX) return
  throw new AppError(
    'conflict',
    `Your organization has ${count} replays in progress, and ${IN_PROGRESS_MAX} is the most. ` +
      'Wait for one of them, or delete it.',
  )
}

async function chooseRuns(
  sql: Queryable,
  deploymentId: number,
  { last, status, ofVersion, kickoffIds }: ReplayFields,
): Promise<string[]> {
  const wanted = kickoffIds.filter(isUuid)
  const given = kickoffIds.length > 0
  const rows = await sql<{ id: string }[]>`
    select e.id from executions e join project_versions v on v.id = e.project_version_id
    where e.deployment_id = ${deploymentId} and ${
      given
        ? sql`e.id = any (${wanted}::uuid[])`
        : sql`e.status in ('completed', 'error')
          and (${status} = 'any' or e.status = ${status})
          and (${ofVersion}::int is null or v.number = ${ofVersion}::int)`
    }
    order by e.queued_at desc, e.id limit ${given ? REPLAYED_MAX : last}`
  const ids = rows.map(({ id }) => id)
  const lost = kickoffIds.find((id) => !ids.includes(id.toLowerCase()))
  if (lost !== undefined) {
    throw new AppError('unprocessable', `This automation has no run ${lost.slice(0, 64)}.`)
  }
  if (ids.length > 0) return ids
  throw new AppError('unprocessable', 'No run of this automation that has ended is among these.')
}

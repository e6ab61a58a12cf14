import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { inputNames } from '../definitions/crew-inputs.ts'
import { requireInside } from '../connections/regions.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { moveAutomations } from './project-automations.ts'
import type { Standing } from './release-standing.ts'
import { DEFAULT_ROLLBACK, readRollbackRule, rollbackOf } from './rollback-rules.ts'
import type { RollbackRule } from './rollback-rules.ts'
import type { ProjectKey, VersionKey } from './projects.ts'

/** How many of the newest runs of each version are compared. */
const COMPARED_MAX = 1000

/** How many of 100 calls a version takes, and by what they are chosen. */
export interface Share {
  readonly percent: number
  /** The input by whose value; null: the call's Idempotency-Key or, without one, chance. */
  readonly stickyInput: string | null
  /** When it is taken back without a person; null: never. @default DEFAULT_ROLLBACK */
  readonly rollback?: RollbackRule | null | undefined
}

/** A version that takes a share of the calls. */
export interface SharedVersion extends Share {
  readonly rollback: RollbackRule | null
  readonly number: number
  readonly startedAt: Date
  /** What the last look found; null: there was none. */
  readonly standing: Standing | null
}

/** What the automations of a project run. */
export interface Release {
  /** null: the project has no automation. */
  readonly running: number | null
  /** The version beside it; null: the other one takes all calls. */
  readonly shared: SharedVersion | null
}

/** Returns what the automations of a project run. */
export async function findRelease(
  sql: Queryable,
  { organizationId, projectId }: ProjectKey,
): Promise<Release> {
  const [found] = await sql<[Release]>`
    select (
        select v.number from deployments d join project_versions v on v.id = d.project_version_id
        where v.project_id = ${projectId} and v.organization_id = ${organizationId}
          and d.tests_project_id is null
        order by d.id limit 1) as running,
      (select json_build_object('number', v.number, 'percent', r.share,
          'stickyInput', r.sticky_input, 'startedAt', r.started_at, 'rollback', ${rollbackOf(sql)},
          'standing', r.standing)
        from releases r join project_versions v on v.id = r.version_id
        where r.project_id = ${projectId} and r.organization_id = ${organizationId}) as shared`
  const { running, shared } = found
  return { running, shared: shared && { ...shared, startedAt: new Date(shared.startedAt) } }
}

/**
 * Gives a published version all calls of its project's automations, or a share of them. Raises
 * `not_found`, `conflict` for a version that cannot run, and `unprocessable` for an input that it
 * does not have, and for one outside of the regions of its organization.
 */
export async function releaseVersion(
  sql: Queryable,
  key: VersionKey,
  { percent, stickyInput, rollback = DEFAULT_ROLLBACK }: Share,
): Promise<void> {
  const { organizationId, projectId, number } = key
  await inTransaction(sql, async (tx) => {
    await lockProject(tx, key)
    const { running } = await findRelease(tx, key)
    const { id, definition } = await getReleasable(tx, key, running)
    await requireInside(tx, organizationId, definition)
    if (percent === 100) {
      await moveAutomations(tx, key, tx`select ${id}::int as id`)
      await endRelease(tx, key)
      return
    }
    if (running === number) {
      throw new AppError(
        'conflict',
        `Version ${number} takes all other calls already: give another version a share.`,
      )
    }
    if (stickyInput !== null) requireInput(definition, stickyInput)
    const rule = rollback && (await readRollbackRule(tx, organizationId, rollback))
    const release = { projectId, organizationId, versionId: id, share: percent, stickyInput }
    // What is compared begins anew with another version, and not with another share.
    await tx`
      delete from releases where project_id = ${projectId} and version_id <> ${id}`
    await tx`
      insert into releases ${tx({ ...release, rollback: rule && tx.json({ ...rule }) })}
      on conflict (project_id) do update set share = excluded.share,
        sticky_input = excluded.sticky_input, rollback = excluded.rollback,
        share_since = case when releases.share = excluded.share
          and releases.sticky_input is not distinct from excluded.sticky_input
          then releases.share_since else now() end,
        revision = releases.revision + 1, looked_at = null`
  })
}

function requireInput(definition: CrewDefinition, name: string): void {
  const names = inputNames(definition)
  if (names.includes(name)) return
  const known = names.length === 0 ? 'It has none.' : `Its inputs: ${names.join(', ')}.`
  throw new AppError('unprocessable', `The version has no input ${JSON.stringify(name)}. ${known}`)
}

/** One after the other, so that what runs is what was decided last. */
export async function lockProject(
  tx: Queryable,
  { organizationId, projectId }: ProjectKey,
): Promise<void> {
  await tx`
    select from projects where id = ${projectId} and organization_id = ${organizationId}
    for update`
}

/** Takes the share of a version back. Returns false when none had one. */
export async function endRelease(
  sql: Queryable,
  { organizationId, projectId }: ProjectKey,
): Promise<boolean> {
  const { count } = await sql`
    delete from releases where project_id = ${projectId} and organization_id = ${organizationId}`
  return count > 0
}

interface Releasable {
  readonly id: number
  readonly definition: CrewDefinition
}

async function getReleasable(
  tx: Queryable,
  { organizationId, projectId, number }: VersionKey,
  running: number | null,
): Promise<Releasable> {
  const [found] = await tx<(Releasable & { isPublished: boolean; fromSource: boolean })[]>`
    select v.id, v.definition, v.published_at is not null as is_published, p.from_source
    from project_versions v join projects p on p.id = v.project_id
    where v.project_id = ${projectId} and v.organization_id = ${organizationId}
      and v.number = ${number}`
  if (!found) throw new AppError('not_found', 'This project has no such version.')
  const { fromSource, isPublished } = found
  const refusal =
    (fromSource &&
      'The versions of this project are sources: deploy a former one on the page of its ' +
        'automation.') ||
    (!isPublished && `Version ${number} is a draft. Publish it first.`) ||
    (running === null && 'The project has no automation that could run it.')
  if (refusal) throw new AppError('conflict', refusal)
  return found
}

/** A version that was taken back without a person. */
export interface Rollback {
  readonly number: number
  /** The version that takes all calls again. */
  readonly running: number
  readonly percent: number
  readonly at: Date
  /** Why, in sentences. */
  readonly text: string
  readonly standing: Standing
  /** The worst ones. */
  readonly runs: readonly { readonly kickoff_id: string; readonly automation_id: string }[]
}

/** Returns the last version that was taken back; undefined when none was. */
export async function findLastRollback(
  sql: Queryable,
  { organizationId, projectId }: ProjectKey,
): Promise<Rollback | undefined> {
  const [found] = await sql<Rollback[]>`
    select number, running, percent, at, text, standing, runs from release_rollbacks
    where project_id = ${projectId} and organization_id = ${organizationId}
    order by at desc, id limit 1`
  return found
}

/** What became of the newest runs of a version. */
export interface VersionRuns {
  readonly number: number
  readonly runs: number
  /** Those that ended by themselves, and those of them that failed. */
  readonly ended: number
  readonly failed: number
  /** Half of those that were completed took no longer, in seconds; null: none was. */
  readonly medianSeconds: number | null
  /** The mean of those that ended; null: none did. */
  readonly tokens: number | null
}

/**
 * Compares what became of the newest calls of the two versions since one of them has its share.
 * Runs that follow another one, and so its version, are not among them.
 */
export async function compareRuns(
  sql: Queryable,
  { organizationId, projectId }: ProjectKey,
  { running, shared }: Release,
): Promise<VersionRuns[]> {
  if (running === null || shared === null) return []
  return sql<VersionRuns[]>`
    select v.number, count(e.status)::int as runs,
      count(*) filter (where e.status in ('completed', 'error'))::int as ended,
      count(*) filter (where e.status = 'error')::int as failed,
      percentile_cont(0.5) within group (
        order by extract(epoch from e.finished_at - e.started_at)::float8)
        filter (where e.status = 'completed') as median_seconds,
      avg((e.usage ->> 'inputTokens')::int + (e.usage ->> 'outputTokens')::int)::float8 as tokens
    from project_versions v left join lateral (
      select status, started_at, finished_at, usage from executions
      where project_version_id = v.id and queued_at >= ${shared.startedAt} and origin_id is null
        and deployment_id in (
          select id from deployments
          where organization_id = ${organizationId} and tests_project_id is null)
      order by queued_at desc limit ${COMPARED_MAX}) e on true
    where v.project_id = ${projectId} and v.organization_id = ${organizationId}
      and v.number in (${running}, ${shared.number})
    group by v.number order by v.number`
}

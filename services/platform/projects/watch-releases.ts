import { randomUUID } from 'node:crypto'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import { costOfModels } from '../../shared/prices/find-price.ts'
import type { ModelUse } from '../../shared/prices/find-price.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import { PLATFORM, writeAudit } from '../audit/audit.ts'
import { listOwnPrices, modelsCalledBy } from '../budgets/model-prices.ts'
import { describeFound, findStanding, worseBy } from './release-standing.ts'
import type { Measure, SeenRun, Standing } from './release-standing.ts'
import type { Rollback } from './releases.ts'
import { rollbackOf } from './rollback-rules.ts'
import type { RollbackRule } from './rollback-rules.ts'

/** The time between two looks at a release. */
const EVERY_SECONDS = 30
/** Releases of one turn; the others are looked at in the next one. */
const RELEASES_MAX = 20
/** Runs that one look counts, and that a test counts at all. */
const RUNS_A_LOOK = 500
const RUNS_MAX = 10_000
/** The transactions that end runs are over by then. */
const LATE_MINUTES = 5
const WORST_MAX = 5

interface WatchedRelease {
  readonly projectId: number
  readonly organizationId: number
  readonly project: string
  readonly versionId: number
  readonly number: number
  readonly runningId: number
  readonly running: number
  readonly percent: number
  readonly rollback: RollbackRule
  readonly revision: number
  readonly isFirst: boolean
  readonly seen: number
}

const isDue = (sql: Queryable) => sql`
  r.rollback is not null and (r.looked_at is null
    or r.looked_at < now() - make_interval(secs => ${EVERY_SECONDS}))`

/** Holds while it is time to look at a release. */
export const hasDueReleases = (sql: Queryable) => sql`
  exists (select from releases r where ${isDue(sql)})`

/**
 * Compares the versions that have a share with those that run, where it is time, and takes the
 * share back of those that are worse by more than their rule allows. Returns how many.
 */
export async function watchReleases(sql: Database, prices: readonly Price[]): Promise<number> {
  const due = await sql<{ projectId: number }[]>`
    select project_id from releases r where ${isDue(sql)}
    order by r.looked_at nulls first, project_id limit ${RELEASES_MAX}`
  let rolledBack = 0
  for (const { projectId } of due) {
    rolledBack += await sql.begin((tx) => watchRelease(tx, projectId, prices))
  }
  return rolledBack
}

/** One worker at a time changes the release, and people wait for it; it waits for no one. */
async function watchRelease(
  tx: Transaction,
  projectId: number,
  prices: readonly Price[],
): Promise<number> {
  const [release] = await tx<WatchedRelease[]>`
    select r.project_id, r.organization_id, p.name as project, r.version_id, v.number,
      w.id as running_id, w.number as running, r.share as percent, r.revision,
      ${rollbackOf(tx)} as rollback, r.looked_at is null as is_first,
      (select count(*)::int from release_runs where project_id = r.project_id) as seen
    from releases r join projects p on p.id = r.project_id
    join project_versions v on v.id = r.version_id
    cross join lateral (
      select o.id, o.number from deployments d
      join project_versions o on o.id = d.project_version_id
      where o.project_id = p.id and d.organization_id = r.organization_id
        and d.tests_project_id is null
      order by d.id limit 1) w
    where r.project_id = ${projectId} and ${isDue(tx)}
    for no key update of p, r skip locked`
  if (!release) return 0
  const counted = await countRuns(tx, release, prices)
  const rated = await countRatings(tx, release)
  const scored = await countScores(tx, release)
  if (counted + rated + scored === 0 && !release.isFirst) {
    await tx`update releases set looked_at = now() where project_id = ${projectId}`
    return 0
  }
  const standing = findStanding(await listSeenRuns(tx, release), release.rollback)
  if (worseBy(standing).length > 0) return rollBack(tx, release, standing)
  await tx`
    update releases set standing = ${JSON.stringify(standing)}::text::jsonb,
      -- There may be more to count already.
      looked_at = case when ${counted} = ${RUNS_A_LOOK} then null else now() end
    where project_id = ${projectId}`
  return 0
}

interface EndedRun extends Pick<SeenRun, 'isNew' | 'hasFailed'> {
  readonly id: string
  readonly unit: string
  readonly finishedAt: Date
  readonly models: readonly ModelUse[]
}

/**
 * Counts the runs that ended since the last look, and whose version was drawn: not those that
 * follow another one, nor the rows of batches. Where an input draws, its first run counts for it.
 */
async function countRuns(
  tx: Transaction,
  release: WatchedRelease,
  prices: readonly Price[],
): Promise<number> {
  const { projectId, versionId, runningId, organizationId, seen } = release
  const limit = Math.min(RUNS_A_LOOK, RUNS_MAX - seen)
  if (limit <= 0) return 0
  const ended = await tx<EndedRun[]>`
    with ended as materialized (
      select e.id, e.project_version_id = r.version_id as is_new, e.status, e.finished_at,
        coalesce('input ' || hashtextextended(e.inputs ->> r.sticky_input, r.version_id),
          e.id::text) as unit
      from releases r join executions e on e.project_version_id in (${versionId}, ${runningId})
      where r.project_id = ${projectId} and e.queued_at >= r.share_since
        and e.finished_at > greatest(r.share_since,
          r.counted_until - make_interval(mins => ${LATE_MINUTES}))
        and e.status in ('completed', 'error') and e.origin_id is null and e.batch_id is null
        and e.deployment_id in (
          select id from deployments
          where organization_id = ${organizationId} and tests_project_id is null)),
    fresh as (
      select distinct on (unit) * from ended e
      where not exists (
        select from release_runs where project_id = ${projectId} and unit = e.unit)
      order by unit, finished_at, id)
    select id, unit, is_new, status = 'error' as has_failed, finished_at,
      ${modelsCalledBy(tx, tx`f.id`)} as models
    from fresh f order by finished_at, id limit ${limit}`
  const last = ended.at(-1)
  if (!last) return 0
  const organization = String(organizationId)
  const known = [...(await listOwnPrices(tx, organizationId)), ...prices]
  const rows = ended.map(({ models, finishedAt, ...run }) => ({
    ...run,
    usd: costOfModels(models, known, { organization, at: finishedAt }) ?? null,
  }))
  await tx`
    insert into release_runs (project_id, version_id, unit, run_id, is_new, share, has_failed, usd)
    select ${projectId}, ${versionId}, unit, id, "isNew", ${release.percent}, "hasFailed", usd
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as g (
      unit text, id uuid, "isNew" boolean, "hasFailed" boolean, usd float8)`
  await tx`
    update releases set counted_until = ${last.finishedAt} where project_id = ${projectId}`
  return ended.length
}

/** The first rating of a run counts, whatever becomes of it. */
async function countRatings(
  tx: Transaction,
  { projectId, organizationId }: WatchedRelease,
): Promise<number> {
  const { count } = await tx`
    with rated as (
      select distinct on (r.id) r.id, n.id as note, n.rating < 0 as is_bad
      from trace_notes n join release_runs r on r.run_id = n.trace_id
      where n.organization_id = ${organizationId} and n.rating is not null
        and r.project_id = ${projectId} and r.is_bad is null
      order by r.id, n.id),
    placed as (
      select id, is_bad, nextval('release_ratings') as position from (
        select * from rated order by note) o)
    update release_runs r set is_bad = p.is_bad, rated_position = p.position
    from placed p where r.id = p.id`
  return count
}

/** What the checks found of a run counts, whatever becomes of it. */
async function countScores(tx: Transaction, { projectId }: WatchedRelease): Promise<number> {
  const { count } = await tx`
    with placed as (
      select id, failed, nextval('release_ratings') as position from (
        select r.id, s.state = 'failed' as failed
        from release_runs r join run_scores s on s.run_id = r.run_id
        where r.project_id = ${projectId} and r.has_failed_score is null
          and s.state in ('passed', 'failed')
        order by s.scored_at, r.id) o)
    update release_runs r set has_failed_score = p.failed, scored_position = p.position
    from placed p where r.id = p.id`
  return count
}

const listSeenRuns = (tx: Transaction, { projectId, versionId }: WatchedRelease) =>
  tx<SeenRun[]>`
    select is_new, share, has_failed, usd, is_bad, rated_position, has_failed_score,
      scored_position from release_runs
    where project_id = ${projectId} and version_id = ${versionId} order by id`

/** What is done, what says so and the messages are one transaction. */
async function rollBack(
  tx: Transaction,
  release: WatchedRelease,
  standing: Standing,
): Promise<number> {
  const { projectId, organizationId, project, number, running, percent, rollback } = release
  const worse = worseBy(standing)
  const said = worse.map(describeFound).join(' ')
  const text = `Version ${number} of ${project} takes no calls any more. ${said}`
  const runs = await listWorstRuns(
    tx,
    release,
    worse.map(({ measure }) => measure),
  )
  const { count } = await tx`
    delete from releases where project_id = ${projectId} and revision = ${release.revision}`
  if (count === 0) return 0
  const id = randomUUID()
  const figures = { project: projectId, version: number, running, percent, ...standing }
  const message = {
    type: 'release_rolled_back',
    timestamp: new Date().toISOString(),
    data: { project_id: projectId, project, version: number, running, percent, text, runs },
  }
  await tx`
    insert into release_rollbacks ${tx({
      id,
      projectId,
      organizationId,
      number,
      running,
      percent,
      text,
      standing: tx.json(JSON.parse(JSON.stringify(standing))),
      runs: tx.json([...runs]),
    })}`
  await writeAudit(tx, PLATFORM, {
    action: 'version_rolled_back',
    target: { kind: 'version', id: `${projectId}/${number}` },
    organizationId,
    after: { ...figures, why: text },
  })
  await tx`
    with mails as (
      insert into alert_mails (rollback_id, user_id, due_at)
      select distinct ${id}::uuid, u.id, now() from memberships m join users u on u.id = m.user_id
      where m.organization_id = ${organizationId} and u.disabled_at is null
        and u.email = any(${[...rollback.mail]}::text[]))
    select line_up_webhook_message(w.id, ${id}, 'release_rolled_back',
      ${JSON.stringify(message)}::text::jsonb)
    from (
      select distinct on (h.url) h.id from webhooks h join deployments d on d.id = h.deployment_id
      join project_versions v on v.id = d.project_version_id
      where v.project_id = ${projectId} and d.tests_project_id is null
        and h.event_types && array['*', 'release_rolled_back']
      order by h.url, h.created_at, h.id) w`
  return 1
}

/** Those of the version that failed last, cost most or were rated as bad; deleted ones are not. */
async function listWorstRuns(
  tx: Transaction,
  { projectId }: WatchedRelease,
  by: readonly Measure[],
): Promise<Rollback['runs']> {
  const [{ runs }] = await tx<[Pick<Rollback, 'runs'>]>`
    select coalesce(jsonb_agg(jsonb_build_object(
      'kickoff_id', w.run_id, 'automation_id', w.automation_id)), '[]') as runs
    from (
      select r.run_id, d.automation_id
      from release_runs r join executions e on e.id = r.run_id
      join deployments d on d.id = e.deployment_id
      where r.project_id = ${projectId} and r.is_new
      order by (${by.includes('failures')} and r.has_failed) desc,
        (${by.includes('ratings')} and coalesce(r.is_bad, false)) desc,
        (${by.includes('scores')} and coalesce(r.has_failed_score, false)) desc,
        case when ${by.includes('cost')} then r.usd end desc nulls last, r.id desc
      limit ${WORST_MAX}) w`
  return runs
}

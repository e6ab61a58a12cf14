import type { Queryable } from '../../shared/postgres/database.ts'
import type { Run, RunStatus } from './runs.ts'
import { isUuid } from '../automations/automations.ts'

/** A run with its project version. */
export interface RunRecord extends Run {
  readonly automationId: string
  readonly projectId: number
  readonly version: number
}

const columns = (sql: Queryable) => sql`
  e.id, e.deployment_id, e.status, e.inputs, e.attempt, e.queued_at, e.started_at, e.finished_at,
  e.output, e.usage, e.error, e.origin_id, e.origin_action, e.trigger, e.starter_name,
  d.automation_id, v.project_id, coalesce(v.number, v.copy_of) as version`

const source = (sql: Queryable) => sql`
  executions e join deployments d on d.id = e.deployment_id
    join project_versions v on v.id = e.project_version_id`

/** Returns a run of the organization; undefined for a run of another one. */
export async function findRunRecord(
  sql: Queryable,
  { organizationId, id }: { organizationId: number; id: string },
): Promise<RunRecord | undefined> {
  if (!isUuid(id)) return undefined
  const [found] = await sql<RunRecord[]>`
    select ${columns(sql)} from ${source(sql)}
    where e.id = ${id} and e.organization_id = ${organizationId}`
  return found
}

/** Returns those of some runs of an organization that wait for a person, or for a budget. */
export async function listWaiting(
  sql: Queryable,
  { organizationId, ids }: { organizationId: number; ids: readonly string[] },
): Promise<string[]> {
  const found = await sql<{ id: string }[]>`
    select id from executions
    where id = any(${[...ids]}::uuid[]) and organization_id = ${organizationId}
      and status = 'waiting'`
  return found.map(({ id }) => id)
}

interface RunPage {
  readonly organizationId: number
  /** Only the runs of this project. */
  readonly projectId?: number
  /** Only the runs of this automation. */
  readonly deploymentId?: number
  readonly status?: RunStatus | undefined
  /** Only these, such as those that a search found. */
  readonly ids?: readonly string[]
  /** The id of the run that the page follows. */
  readonly after?: string
  readonly limit: number
}

/** Returns the runs of an organization but for tests of drafts, newest first. */
export async function listRunRecords(
  sql: Queryable,
  { organizationId, projectId, deploymentId, status, ids, after, limit }: RunPage,
): Promise<RunRecord[]> {
  return sql<RunRecord[]>`
    select ${columns(sql)} from ${source(sql)}
    where e.organization_id = ${organizationId} and d.tests_project_id is null
      ${deploymentId === undefined ? sql`` : sql`and e.deployment_id = ${deploymentId}`}
      ${status === undefined ? sql`` : sql`and e.status = ${status}`}
      ${projectId === undefined ? sql`` : sql`and v.project_id = ${projectId}`}
      ${ids === undefined ? sql`` : sql`and e.id = any(${[...ids]}::uuid[])`}
      ${
        after === undefined
          ? sql``
          : sql`and (e.queued_at, e.id) < (
        select queued_at, id from executions
        where id = ${after} and organization_id = ${organizationId})`
      }
    order by e.queued_at desc, e.id desc limit ${limit}`
}

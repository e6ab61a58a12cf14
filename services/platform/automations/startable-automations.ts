import type { Queryable } from '../../shared/postgres/database.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { automationColumns, isUuid } from './automations.ts'
import type { Automation } from './automations.ts'

/** What a caller may start: automations of one organization. */
export interface Reach {
  readonly organizationId: number
  /** The only one; null: all of them. */
  readonly deploymentId: number | null
  /** The OAuth client that they are bound to; null: whatever they are bound to. */
  readonly clientId: string | null
}

/** An automation with the definition that it runs. */
export type StartableAutomation = Automation & { readonly definition: CrewDefinition }

/** Returns automations that a caller may start, by slug, from behind one on. */
export const listStartable = (
  sql: Queryable,
  reach: Reach,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<StartableAutomation[]> => sql<StartableAutomation[]>`
  ${startable(sql, reach)} and deployments.slug > ${after} collate "C"
  order by deployments.slug collate "C" limit ${limit}`

/** Returns the automation of that slug, if a caller may start it. */
export async function findStartable(
  sql: Queryable,
  reach: Reach,
  slug: string,
): Promise<StartableAutomation | undefined> {
  const [found] = await sql<StartableAutomation[]>`
    ${startable(sql, reach)} and deployments.slug = ${slug}`
  return found
}

/** Returns the automation of a run that the starter started, if the caller may still start it. */
export async function findStarted(
  sql: Queryable,
  reach: Reach,
  { runId, starterId }: { readonly runId: string; readonly starterId: string },
): Promise<StartableAutomation | undefined> {
  if (!isUuid(runId)) return undefined
  const [found] = await sql<StartableAutomation[]>`
    ${startable(sql, reach)} and deployments.id = (
      select deployment_id from executions where id = ${runId} and starter_id = ${starterId})`
  return found
}

/** A run that a caller started, with what lists say of its automation. */
export interface StartedRun extends Pick<Automation, 'slug' | 'name'> {
  readonly id: string
  readonly status: string
  readonly queuedAt: Date
}

/** For a starter whose runs are rare: no index has them. */
const LOOKED_MAX = 10_000

/**
 * Returns runs that the starter started of what the caller may still start, newest first, from
 * behind one on, as far as they are among the newest 10,000 of all.
 */
export const listStarted = (
  sql: Queryable,
  reach: Reach,
  { starterId, after, limit }: { starterId: string; after: string | undefined; limit: number },
): Promise<StartedRun[]> => sql<StartedRun[]>`
  select e.id, e.status, e.queued_at, a.slug, a.name
  from (
    select id, deployment_id, status, queued_at, starter_id from executions
    where ${
      reach.deploymentId === null
        ? sql`organization_id = ${reach.organizationId}`
        : sql`deployment_id = ${reach.deploymentId}`
    }
    order by queued_at desc, id desc limit ${LOOKED_MAX}) e
  join (${startable(sql, reach)}) a on a.id = e.deployment_id
  where e.starter_id = ${starterId} ${
    after === undefined
      ? sql``
      : sql`and (e.queued_at, e.id) < (select queued_at, id from executions where id = ${after})`
  }
  order by e.queued_at desc, e.id desc limit ${limit}`

/** Returns true if an automation of the organization is bound to that OAuth client. */
export async function isBoundClient(
  sql: Queryable,
  { organizationId, clientId }: { readonly organizationId: number; readonly clientId: string },
): Promise<boolean> {
  const found = await sql`
    select from deployments
    where organization_id = ${organizationId} and oauth_client_id = ${clientId}
      and tests_project_id is null limit 1`
  return found.length > 0
}

/** Without those that are being deleted. */
const startable = (sql: Queryable, { organizationId, deploymentId, clientId }: Reach) => sql`
  select ${automationColumns(sql)}, v.definition
  from deployments join project_versions v on v.id = deployments.project_version_id
  where deployments.organization_id = ${organizationId}
    and deployments.tests_project_id is null and deployments.deleting_since is null
    and (${deploymentId}::int is null or deployments.id = ${deploymentId}::int)
    and (${clientId}::text is null or deployments.oauth_client_id = ${clientId}::text)
    and not exists (
      select from crew_settings c
      where c.deployment_id = deployments.id and c.removing_since is not null)`

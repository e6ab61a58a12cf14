import { isDeepStrictEqual } from 'node:util'
import type { Queryable } from '../../shared/postgres/database.ts'
import { ensureAutomation } from '../automations/automations.ts'
import type { Automation, AutomationStatus } from '../automations/automations.ts'
import { INTERNAL_DEFINITIONS } from '../definitions/internal-crew-definitions.ts'
import type { InternalSlug } from '../definitions/internal-crew-definitions.ts'
import { ensureOrganization } from '../people/organizations.ts'
import { findPublishedVersion, publishVersion } from '../projects/project-versions.ts'
import { ensureProject } from '../projects/projects.ts'

interface InternalAutomation {
  readonly id: number
  readonly slug: string
  readonly appId: string
  readonly status: AutomationStatus
}

/** The platform's own organization with its crews. */
export interface InternalOrganization {
  readonly id: number
  readonly name: string
  readonly deployments: readonly InternalAutomation[]
}

/**
 * The platform's own organization with the crews that have pods of their own, if it is installed.
 * Its automations that run on the Runner are no crews, and those made from a source are like any
 * organization's.
 */
export async function findInternalOrganization(
  sql: Queryable,
): Promise<InternalOrganization | undefined> {
  const [organization] = await sql<{ id: number; name: string }[]>`
    select id, name from organizations where internal`
  if (!organization) return undefined
  const deployments = await sql<InternalAutomation[]>`
    select id, slug, app_id, status from deployments
    where organization_id = ${organization.id} and runs_on is null
      and not exists (select from crew_settings c where c.deployment_id = deployments.id)
    order by id limit 100`
  return { ...organization, deployments }
}

/**
 * Creates or finds the platform's own organization, which holds the Assistant and the Runner (SPEC
 * 2.3).
 */
export const ensureInternalOrganization = (sql: Queryable) =>
  ensureOrganization(sql, { name: 'Platform', internal: true })

/**
 * Creates or updates the automation of an internal crew, on the definition that this version of the
 * platform brings.
 */
export async function ensureInternalCrew(sql: Queryable, slug: InternalSlug): Promise<Automation> {
  const { id: organizationId } = await ensureInternalOrganization(sql)
  const definition = INTERNAL_DEFINITIONS[slug]
  const { name } = definition
  const projectId = await ensureProject(sql, { organizationId, name })
  const published = await findPublishedVersion(sql, projectId)
  const version =
    published && isDeepStrictEqual(published.definition, definition)
      ? published
      : await publishVersion(sql, projectId, definition)
  const crew = { organizationId, projectVersionId: version.id, name, slug, appId: `crew-${slug}` }
  return ensureAutomation(sql, crew)
}

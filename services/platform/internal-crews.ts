import type { Queryable } from '../shared/database.ts'
import type { DeploymentStatus } from './deployments.ts'

/** The crews of the internal organization that the designer works with, by the slugs of their deployments (SPEC 2.3). */
export const INTERNAL_CREWS = {
  agent: { slugs: ['assistant'] },
  runner: { slugs: ['runner'] },
} as const satisfies Record<string, { readonly slugs: readonly string[] }>

export interface InternalDeployment {
  readonly id: number
  readonly slug: string
  readonly appId: string
  readonly status: DeploymentStatus
}

export interface InternalOrganization {
  readonly id: number
  readonly name: string
  readonly deployments: readonly InternalDeployment[]
}

/** The platform's own organization with its deployments, if it is installed. */
export async function findInternalOrganization(
  sql: Queryable,
): Promise<InternalOrganization | undefined> {
  const [organization] = await sql<{ id: number; name: string }[]>`
    select id, name from organizations where internal`
  if (!organization) return undefined
  const deployments = await sql<InternalDeployment[]>`
    select id, slug, app_id, status from deployments
    where organization_id = ${organization.id} order by id limit 100`
  return { ...organization, deployments }
}

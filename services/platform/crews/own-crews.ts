import { sqlState } from '../../shared/postgres/failures.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { automationColumns } from '../automations/automations.ts'
import type { Automation } from '../automations/automations.ts'
import { ownCrewDefinition } from '../definitions/own-crew-definition.ts'
import { slugOf } from '../projects/project-automations.ts'

/**
 * Creates an automation that is to be made from a source, with a project of the same name. It has
 * no crew before its first deployment. Raises `conflict` when the organization has a project of
 * that name.
 */
export async function createOwnAutomation(
  sql: Queryable,
  { organizationId, name }: { readonly organizationId: number; readonly name: string },
): Promise<Automation> {
  try {
    return await inTransaction(sql, (tx) => create(tx, { organizationId, name }))
  } catch (thrown) {
    if (sqlState(thrown) !== '23505') throw thrown
    throw new AppError(
      'conflict',
      `Your organization has a project or an automation named ${JSON.stringify(name)}. Choose ` +
        'another name, or deploy a new source of that automation.',
    )
  }
}

async function create(
  tx: Queryable,
  { organizationId, name }: { organizationId: number; name: string },
): Promise<Automation> {
  const definition = JSON.stringify(ownCrewDefinition({ name, inputs: [] }))
  const [project] = await tx<[{ id: number; slug: string }]>`
    with p as (
      insert into projects (organization_id, name, last_version, from_source)
      values (${organizationId}, ${name}, 1, true) returning id, name)
    select p.id, ${slugOf(tx)} as slug from p`
  const [version] = await tx<[{ id: number }]>`
    insert into project_versions (project_id, organization_id, number, definition, published_at)
    values (${project.id}, ${organizationId}, 1, ${definition}::text::jsonb, now()) returning id`
  const [made] = await tx<[Automation]>`
    insert into deployments
      (organization_id, project_version_id, name, slug, app_id, status, status_reason)
    values (${organizationId}, ${version.id}, ${name}, ${project.slug}, ${`crew-${project.slug}`},
      'Crew is Offline', 'Nothing is deployed yet.')
    returning ${automationColumns(tx)}`
  await tx`insert into crew_settings (deployment_id) values (${made.id})`
  return made
}

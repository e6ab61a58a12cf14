import type { Queryable } from '../shared/database.ts'
import { AppError } from '../shared/errors.ts'
import { parseCrewDefinition } from './crew-definition.ts'
import type { CrewDefinition } from './crew-definition.ts'

export interface ProjectVersion {
  readonly id: number
  readonly organizationId: number
  readonly number: number
  readonly definition: CrewDefinition
}

/** Creates a project of an organization, or returns the id of the one of that name. */
export async function ensureProject(
  sql: Queryable,
  project: { organizationId: number; name: string },
): Promise<number> {
  const { organizationId, name } = project
  await sql`insert into projects ${sql({ organizationId, name })} on conflict do nothing`
  const [found] = await sql<[{ id: number }]>`
    select id from projects where organization_id = ${organizationId} and name = ${name}`
  return found.id
}

/** Adds the next version of a project and publishes it: from then on it can not change. Raises `unprocessable`, `not_found`. */
export async function publishVersion(
  sql: Queryable,
  projectId: number,
  definition: unknown,
): Promise<ProjectVersion> {
  const parsed = parseCrewDefinition(definition)
  const [version] = await sql<ProjectVersion[]>`
    with project as (
      update projects set last_version = last_version + 1 where id = ${projectId}
      returning id, organization_id, last_version)
    insert into project_versions (project_id, organization_id, number, definition, published_at)
    select id, organization_id, last_version, ${sql.json(parsed)}, now() from project
    returning id, organization_id, number, definition`
  if (!version) throw new AppError('not_found', `There is no project ${projectId}.`)
  return version
}

/** The newest published version of a project, if it has one. */
export async function findPublishedVersion(
  sql: Queryable,
  projectId: number,
): Promise<ProjectVersion | undefined> {
  const [found] = await sql<ProjectVersion[]>`
    select id, organization_id, number, definition from project_versions
    where project_id = ${projectId} and published_at is not null
    order by number desc limit 1`
  return found
}

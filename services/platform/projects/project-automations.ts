import type { Queryable } from '../../shared/postgres/database.ts'
import { findAutomation } from '../automations/automations.ts'
import type { Automation } from '../automations/automations.ts'
import { INTERNAL_CREWS } from '../definitions/internal-crew-definitions.ts'
import type { ProjectKey } from './projects.ts'

/** The crew of the internal organization that runs the projects which have no crew of their own. */
const [RUNNER_SLUG] = INTERNAL_CREWS.runner.slugs
/** With the id and the `crew-` of the app id, a slug stays within the column's limit. */
const NAME_PART_MAX = 35

/**
 * Makes the automations of a project run its newest published version. A project without an
 * automation gets one on the Runner, unless there is no Runner or no published version.
 */
export async function deployProject(sql: Queryable, project: ProjectKey): Promise<void> {
  const { organizationId, projectId } = project
  if (await moveAutomations(sql, project, newestVersion(sql, project))) return
  await sql`
    insert into deployments
      (organization_id, project_version_id, name, slug, app_id, status, runs_on)
    select ${organizationId}, newest.id, p.name, names.slug, 'crew-' || names.slug,
      'Crew is Online', runner.id
    from (${newestVersion(sql, project)}) newest, projects p,
      lateral (select ${slugOf(sql)} as slug) names,
      (${runnerOf(sql)}) runner
    where p.id = ${projectId} and p.organization_id = ${organizationId}
    on conflict do nothing`
}

/** Makes the automations of a project run a version of it. Returns false when it has none. */
export async function moveAutomations(
  sql: Queryable,
  { organizationId, projectId }: ProjectKey,
  version: ReturnType<typeof newestVersion>,
): Promise<boolean> {
  const { count } = await sql`
    update deployments d set project_version_id = wanted.id, updated_at = now()
    from (${version}) wanted, project_versions v
    where v.id = d.project_version_id and v.project_id = ${projectId}
      and d.organization_id = ${organizationId} and d.tests_project_id is null`
  return count > 0
}

/** Returns the automation that runs a project; deploys the project first if it has none. */
export async function ensureProjectAutomation(
  sql: Queryable,
  project: ProjectKey,
): Promise<Automation | undefined> {
  const { organizationId, projectId } = project
  const find = async (): Promise<string | undefined> => {
    const [found] = await sql<{ automationId: string }[]>`
      select d.automation_id
      from deployments d join project_versions v on v.id = d.project_version_id
      where v.project_id = ${projectId} and d.organization_id = ${organizationId}
        and d.tests_project_id is null
      order by d.id limit 1`
    return found?.automationId
  }
  const existing = await find()
  if (existing === undefined) await deployProject(sql, project)
  return findAutomation(sql, existing ?? (await find()) ?? '')
}

const newestVersion = (sql: Queryable, { organizationId, projectId }: ProjectKey) => sql`
  select id from project_versions
  where project_id = ${projectId} and organization_id = ${organizationId}
    and published_at is not null
  order by number desc limit 1`

/** The id of the Runner, if it is installed. */
export const runnerOf = (sql: Queryable) => sql`
  select d.id from deployments d join organizations o on o.id = d.organization_id
  where o.internal and d.slug = ${RUNNER_SLUG}`

/**
 * The slug of the automation of a project `p`: the part of the name that fits into a host name, and
 * the id, which makes it unique: `newsletter-7`. A name in a script without such letters leaves
 * `project-7`.
 */
export const slugOf = (sql: Queryable) => sql`
  coalesce(nullif(trim(both '-' from left(
    regexp_replace(lower(p.name), '[^a-z0-9]+', '-', 'g'), ${NAME_PART_MAX})), ''), 'project')
  || '-' || p.id`

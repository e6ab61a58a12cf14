import { sqlState } from '../../shared/postgres/failures.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { contains, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'
import { refuseHeldInputs, refuseHeldRuns, unlessHeld } from '../runs/run-retention.ts'

/** A project of an organization, with what became of its versions. */
export interface Project {
  readonly id: number
  readonly name: string
  /** The number of the newest version; 0: there is none. */
  readonly lastVersion: number
  /** The number of the newest published version. */
  readonly publishedVersion: number | null
  /** The automation that runs it, once it is deployed. */
  readonly automationId: string | null
  readonly createdAt: Date
  /** Its versions are sources, which are deployed and not written here. */
  readonly fromSource: boolean
  /** null: it is not archived. */
  readonly archivedAt: Date | null
}

/** Names a project of an organization. */
export interface ProjectKey {
  readonly organizationId: number
  readonly projectId: number
}

/** Names a version of a project. */
export interface VersionKey extends ProjectKey {
  readonly number: number
}

/** What the name of a project matches. */
export const PROJECT_NAME = /^(?!\s)[^\p{Cc}]{1,200}(?<!\s)$/u
/** Returns what is wrong with the name of a project. */
export const projectNameProblem = (name: string): string | undefined =>
  PROJECT_NAME.test(name)
    ? undefined
    : 'must have 1 to 200 characters, no control characters, and no space at its ends'

const columns = (sql: Queryable) => sql`
  p.id, p.name, p.last_version, p.created_at, p.from_source, p.archived_at,
  (select max(v.number) from project_versions v
    where v.project_id = p.id and v.published_at is not null) as published_version,
  (select d.automation_id from deployments d join project_versions v on v.id = d.project_version_id
    where v.project_id = p.id and d.tests_project_id is null
    order by d.id limit 1) as automation_id`

/** Creates a project. Raises `conflict` when the organization has one of that name. */
export async function createProject(
  sql: Queryable,
  project: { organizationId: number; name: string },
): Promise<Project> {
  try {
    const [created] = await sql<[Project]>`
      with p as (insert into projects ${sql({ ...project })} returning *)
      select ${columns(sql)} from p`
    return created
  } catch (thrown) {
    throw nameTaken(thrown)
  }
}

function nameTaken(thrown: unknown): unknown {
  if (sqlState(thrown) !== '23505') return thrown
  return new AppError(
    'conflict',
    'Your organization has a project of that name. Choose another name, ' +
      'or add a version to that project.',
  )
}

const isProject = (sql: Queryable, { organizationId, projectId }: ProjectKey) =>
  sql`id = ${projectId} and organization_id = ${organizationId}`

/** Renames a project. Raises `conflict` when the organization has one of that name. */
export async function renameProject(sql: Queryable, key: ProjectKey, name: string): Promise<void> {
  try {
    await sql`update projects set name = ${name} where ${isProject(sql, key)}`
  } catch (thrown) {
    throw nameTaken(thrown)
  }
}

/** Archives a project, or brings it back. Returns false when it is so already. */
export async function archiveProject(
  sql: Queryable,
  key: ProjectKey,
  isArchived: boolean,
): Promise<boolean> {
  const { count } = await sql`
    update projects set archived_at = ${isArchived ? sql`now()` : null}
    where ${isProject(sql, key)} and (archived_at is not null) <> ${isArchived}`
  return count > 0
}

/**
 * Deletes a project with its versions and the runs that tested its drafts. Raises `conflict` for
 * one of which an automation runs a version, and while a test goes on.
 */
export async function deleteProject(sql: Queryable, key: ProjectKey): Promise<void> {
  const { organizationId, projectId } = key
  const drafts = sql`project_id = ${projectId} and organization_id = ${organizationId}`
  // The lock keeps a version from being published meanwhile.
  await sql`select from projects where ${isProject(sql, key)} for update`
  const { count } = await sql`
    select from deployments
    where tests_project_id is null
      and project_version_id in (select id from project_versions where ${drafts}) limit 1`
  if (count > 0) throw isRun()
  await deleteTests(sql, projectId)
  const versions = sql`delete from project_versions where ${drafts}`
  await unlessHeld('outcomes of replays by this project', versions)
  await sql`delete from projects where ${isProject(sql, key)}`
}

async function deleteTests(sql: Queryable, projectId: number): Promise<void> {
  const tests = sql`(select id from deployments where tests_project_id = ${projectId})`
  const { count } = await sql`
    select from executions where deployment_id in ${tests} and finished_at is null limit 1`
  if (count > 0) {
    throw new AppError('conflict', 'A test of a draft is in progress. Stop its run, or wait.')
  }
  await refuseHeldRuns(sql, sql`e.deployment_id in ${tests}`)
  await refuseHeldInputs(sql, sql`d.id in ${tests}`)
  await sql`delete from executions where deployment_id in ${tests}`
  await sql`delete from deployments where tests_project_id = ${projectId}`
}

const isRun = (): AppError =>
  new AppError(
    'conflict',
    'An automation runs a version of this project. Delete the automation first, or archive the ' +
      'project.',
  )

/** Returns a project of the organization; undefined for a project of another one. */
export async function findProject(
  sql: Queryable,
  { organizationId, id }: { organizationId: number; id: number },
): Promise<Project | undefined> {
  const [found] = await sql<Project[]>`
    select ${columns(sql)} from projects p
    where p.id = ${id} and p.organization_id = ${organizationId}`
  return found
}

/** Returns the projects of an organization after the one with the id `after`, oldest first. */
export async function listProjects(
  sql: Queryable,
  { organizationId, after, limit }: { organizationId: number; after: number; limit: number },
): Promise<Project[]> {
  return sql<Project[]>`
    select ${columns(sql)} from projects p
    where p.organization_id = ${organizationId} and p.id > ${after} order by p.id limit ${limit}`
}

/**
 * Returns a page of the projects of an organization by name, those that are archived or the others;
 * the search looks into names.
 */
export async function listProjectPage(
  sql: Queryable,
  organizationId: number,
  { isArchived = false, ...page }: PageRequest & { readonly isArchived?: boolean },
): Promise<Page<Project>> {
  const byName = { columns: [sql`p.name`], at: (cursor: string) => sql`(${cursor})` }
  const isListed = sql`
    p.organization_id = ${organizationId} and (p.archived_at is not null) = ${isArchived}
      and (${contains(sql, [sql`p.name`], page.search)})`
  const [rows, [{ total }]] = await Promise.all([
    sql<Project[]>`
      select ${columns(sql)} from projects p where ${isListed} ${keyset(sql, byName, page)}`,
    sql<[{ total: number }]>`select count(*)::int as total from projects p where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: ({ name }) => name })
}

/** Creates a project of an organization, or returns the id of the one of that name. */
export async function ensureProject(
  sql: Queryable,
  project: { organizationId: number; name: string },
): Promise<number> {
  const { organizationId, name } = project
  // A conflict uses an id up: only what is missing is tried.
  await sql`
    insert into projects (organization_id, name)
    select ${organizationId}::int, ${name}::text where not exists (
      select from projects where organization_id = ${organizationId} and name = ${name})
    on conflict do nothing`
  const [found] = await sql<[{ id: number }]>`
    select id from projects where organization_id = ${organizationId} and name = ${name}`
  return found.id
}

import type { Context } from 'hono'
import { findProject } from '../../../platform/projects/projects.ts'
import type { Project, VersionKey } from '../../../platform/projects/projects.ts'
import { findVersion } from '../../../platform/projects/project-versions.ts'
import type { Version } from '../../../platform/projects/project-versions.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn } from '../../context.ts'

const NUMBER_MAX = 2 ** 31 - 1

/** Returns the address of a project. */
export const projectPath = ({ id }: Pick<Project, 'id'>): string => `/projects/${id}`
/** Returns the address of a version of a project. */
export const versionPath = (project: Pick<Project, 'id'>, number: number): string =>
  `${projectPath(project)}/versions/${number}`

/** Returns the project of the path. Raises `not_found`, also for one of another organization. */
export async function getOwnProject(c: Context<SignedIn>, sql: Database): Promise<Project> {
  const { organizationId } = c.var.session.user
  const id = readNumber(c.req.param('projectId'))
  const found = id === undefined ? undefined : await findProject(sql, { organizationId, id })
  if (!found) throw new AppError('not_found', 'Your organization has no such project.')
  c.var.wide['project_id'] = found.id
  return found
}

/** Raises `conflict` for a project to which no version can be written. */
export function requireDesigned({ fromSource, archivedAt }: Project): void {
  if (fromSource) {
    throw new AppError(
      'conflict',
      'The versions of this project are sources: deploy a new one on the page of its automation.',
    )
  }
  if (archivedAt === null) return
  throw new AppError(
    'conflict',
    'This project is archived. Bring it back before you add a version.',
  )
}

/** A version, its project, and the key of both. */
export interface OwnVersion {
  readonly project: Project
  readonly version: Version
  readonly key: VersionKey
}

/** Returns the version of the path with its project. Raises `not_found`. */
export async function getOwnVersion(c: Context<SignedIn>, sql: Database): Promise<OwnVersion> {
  const project = await getOwnProject(c, sql)
  const { organizationId } = c.var.session.user
  const number = readNumber(c.req.param('number'))
  const key = { organizationId, projectId: project.id, number: number ?? 0 }
  const version = await findVersion(sql, key)
  if (version) return { project, version, key }
  throw new AppError('not_found', 'This project has no such version.')
}

/** Returns the version that a form or an address names, if there is one. */
export async function findNamedVersion(
  sql: Database,
  { organizationId, project }: { organizationId: number; project: Project },
  text: string | null | undefined,
): Promise<Version | undefined> {
  const number = readNumber(text ?? undefined)
  if (number === undefined) return undefined
  return findVersion(sql, { organizationId, projectId: project.id, number })
}

function readNumber(text = ''): number | undefined {
  const number = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Infinity
  return number <= NUMBER_MAX ? number : undefined
}

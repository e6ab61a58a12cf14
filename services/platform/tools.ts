import { createHash } from 'node:crypto'
import type { Queryable } from '../shared/database.ts'
import { AppError } from '../shared/errors.ts'
import { sqlState } from '../shared/database.ts'

export interface Tool {
  readonly name: string
  readonly version: string
  readonly filename: string
  readonly sha256: Buffer
  readonly requiresPython: string | null
  readonly yankedReason: string | null
}

export interface ToolUpload {
  readonly name: string
  readonly version: string
  readonly filename: string
  readonly requiresPython: string | null
  readonly content: Buffer
}

/** The name of a package as PEP 503 compares it. */
export const normalizeToolName = (name: string): string =>
  name.replace(/[-_.]+/g, '-').toLowerCase()

/** Creates the repository that every crew may use, or returns its id. */
export async function ensurePublicToolRepository(sql: Queryable, name: string): Promise<number> {
  await sql`insert into tool_repositories (name) values (${name}) on conflict do nothing`
  const [found] = await sql<[{ id: number }]>`
    select id from tool_repositories where organization_id is null`
  return found.id
}

/** Stores one file of a tool. Raises `conflict` when the repository has a file of that name: files never change. */
export async function uploadTool(
  sql: Queryable,
  repositoryId: number,
  upload: ToolUpload,
): Promise<void> {
  const sha256 = createHash('sha256').update(upload.content).digest()
  const row = { ...upload, name: normalizeToolName(upload.name), repositoryId, sha256 }
  try {
    await sql`insert into tools ${sql(row)}`
  } catch (thrown) {
    if (sqlState(thrown) !== '23505') throw thrown
    throw new AppError(
      'conflict',
      `The repository already has the file ${upload.filename}. Upload a new version.`,
    )
  }
}

/** The files of one tool, in order of upload. */
export async function listTools(
  sql: Queryable,
  repositoryId: number,
  name: string,
): Promise<Tool[]> {
  return sql<Tool[]>`
    select name, version, filename, sha256, requires_python, yanked_reason from tools
    where repository_id = ${repositoryId} and name = ${normalizeToolName(name)}
    order by id limit 1000`
}

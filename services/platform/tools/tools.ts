import type { Queryable } from '../../shared/postgres/database.ts'
import { normalizeToolName } from './python-packages.ts'

/** One file of a tool. */
export interface Tool {
  readonly id: number
  /** As PEP 503 compares it. */
  readonly name: string
  readonly version: string
  readonly filename: string
  readonly sha256: Buffer
  /** In bytes. */
  readonly size: number
  readonly requiresPython: string | null
  /** null: not yanked. Empty: yanked without a reason. */
  readonly yankedReason: string | null
  readonly createdAt: Date
}

const NAMES_MAX = 10_000
const FILES_MAX = 1000

/** Creates the repository that every crew may use, or returns its id. */
export async function ensurePublicToolRepository(sql: Queryable, name: string): Promise<number> {
  await sql`insert into tool_repositories (name) values (${name}) on conflict do nothing`
  const [found] = await sql<[{ id: number }]>`
    select id from tool_repositories where organization_id is null`
  return found.id
}

/** Creates the repository of an organization, or returns its id. */
export async function ensureToolRepository(
  sql: Queryable,
  organizationId: number,
): Promise<number> {
  const row = { organizationId, name: `organization-${organizationId}` }
  await sql`insert into tool_repositories ${sql(row)} on conflict do nothing`
  const [found] = await sql<[{ id: number }]>`
    select id from tool_repositories where organization_id = ${organizationId}`
  return found.id
}

/** Returns the repository of an organization; for null the public one. */
export async function findToolRepository(
  sql: Queryable,
  organizationId: number | null,
): Promise<number | undefined> {
  const [found] = await sql<{ id: number }[]>`
    select id from tool_repositories where organization_id is not distinct from ${organizationId}`
  return found?.id
}

/** Returns the names of the tools in some repositories, each once. */
export async function listToolNames(
  sql: Queryable,
  repositoryIds: readonly number[],
): Promise<string[]> {
  if (repositoryIds.length === 0) return []
  const rows = await sql<{ name: string }[]>`
    select distinct name from tools where repository_id in ${sql([...repositoryIds])}
    order by name limit ${NAMES_MAX}`
  return rows.map(({ name }) => name)
}

const columns = (sql: Queryable) => sql`
  id, name, version, filename, sha256, size, requires_python, yanked_reason, created_at`

/** Returns the files of one tool, in order of upload. */
export async function listTools(
  sql: Queryable,
  repositoryId: number,
  name: string,
): Promise<Tool[]> {
  return sql<Tool[]>`
    select ${columns(sql)} from tools
    where repository_id = ${repositoryId} and name = ${normalizeToolName(name)}
    order by id limit ${FILES_MAX}`
}

/** Returns one file of a repository, if it exists. */
export async function findTool(
  sql: Queryable,
  { repositoryId, filename }: { repositoryId: number; filename: string },
): Promise<Tool | undefined> {
  const [found] = await sql<Tool[]>`
    select ${columns(sql)} from tools
    where repository_id = ${repositoryId} and filename = ${filename}`
  return found
}

/** Reads the content of a file, part after part, each on demand. */
export async function* readToolContent(sql: Queryable, { id }: Tool): AsyncGenerator<Buffer> {
  for (let position = 0; ; position += 1) {
    const [part] = await sql<{ content: Buffer }[]>`
      select content from tool_parts where tool_id = ${id} and position = ${position}`
    if (!part) return
    yield part.content
  }
}

const YANK_REASON = /^[^\p{Cc}]{0,200}$/u

/** Tells whether a text can be the reason of a yanked file: one line of at most 200 characters. */
export const isYankReason = (text: string): boolean => YANK_REASON.test(text)

/**
 * Yanks a file, for a reason: installers that do not ask for exactly its version skip it (PEP
 * 592). With null it is good again. Returns false when there is no such file.
 */
export async function setYanked(
  sql: Queryable,
  { repositoryId, filename }: { repositoryId: number; filename: string },
  reason: string | null,
): Promise<boolean> {
  const changed = await sql`
    update tools set yanked_reason = ${reason}
    where repository_id = ${repositoryId} and filename = ${filename} returning id`
  return changed.length > 0
}

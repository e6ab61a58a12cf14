import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import type { KickoffFile } from '../crew-contract/kickoff-files.ts'

/**
 * Notes which files a run names, so that they are kept as long as it is. Raises `unprocessable`
 * when one is no longer there.
 */
export async function keepFiles(
  tx: Queryable,
  runId: string,
  fileIds: readonly string[],
): Promise<void> {
  if (fileIds.length === 0) return
  const { count } = await tx`
    insert into run_files (run_id, file_id)
    select ${runId}, id from (
      select id from input_files where id = any (${fileIds}::uuid[]) for key share) kept`
  if (count === new Set(fileIds).size) return
  throw new AppError('unprocessable', 'A file of the inputs was deleted. Send it again.')
}

/** Returns the ids of the files that a run names. */
export async function listRunFiles(sql: Queryable, runId: string): Promise<string[]> {
  const rows = await sql<{ fileId: string }[]>`
    select file_id from run_files where run_id = ${runId}`
  return rows.map(({ fileId }) => fileId)
}

/** A run or a case, which names files. */
export type NamesFiles = { readonly runId: string } | { readonly caseId: string }

/** Loads the files that a run or a case names with their contents, by their ids, for its crew. */
export async function loadFiles(
  sql: Queryable,
  of: NamesFiles,
): Promise<Record<string, KickoffFile>> {
  const named =
    'runId' in of
      ? sql`select file_id from run_files where run_id = ${of.runId}`
      : sql`select file_id from case_files where case_id = ${of.caseId}`
  const files = await sql<{ id: string; name: string; mediaType: string; size: number }[]>`
    select id, name, media_type, size from input_files where id in (${named}) order by id`
  const loaded = files.map(async ({ id, name, mediaType: media_type, size }) => {
    const parts = await sql<{ content: Buffer }[]>`
      select content from input_file_parts where file_id = ${id} order by position`
    const content = Buffer.concat(parts.map((part) => part.content))
    const content_base64 = content.toString('base64')
    return [id, { name, media_type, size, content_base64 }] as const
  })
  return Object.fromEntries(await Promise.all(loaded))
}

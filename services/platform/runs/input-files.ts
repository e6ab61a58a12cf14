import { createHash } from 'node:crypto'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import type { Automation } from '../automations/automations.ts'
import { detectType, typeProblem } from '../crew-contract/file-types.ts'
import type { SentContent } from '../crew-contract/file-types.ts'
import { safeName } from '../definitions/output-file.ts'
import { partsOf } from '../../shared/postgres/byte-parts.ts'

/** The largest file, and the most that all files of a run may have, in bytes. */
export const FILE_BYTES_MAX = 20 * 1024 * 1024
/** What an organization may keep in files, in bytes. */
const ORGANIZATION_BYTES_MAX = 5 * 1024 * 1024 * 1024

/** A file that inputs of runs may name. */
export interface InputFile {
  readonly id: string
  readonly name: string
  readonly mediaType: string
  /** In bytes. */
  readonly size: number
  /** In hexadecimal digits. */
  readonly sha256: string
}

interface SentFile extends SentContent {
  readonly automation: Pick<Automation, 'id' | 'organizationId'>
}

/**
 * Stores a file for the runs of an automation; the same one again is the same file. It is deleted
 * once it is a day old and no run names it. Raises `payload_too_large` for one that is too large or
 * one too many, and `unprocessable` for what no agent can work with.
 */
export async function storeInputFile(sql: Database, sent: SentFile): Promise<InputFile> {
  const { automation, chunks } = sent
  const size = chunks.reduce((sum, { length }) => sum + length, 0)
  const name = safeName(sent.name) || 'file'
  if (size === 0) throw new AppError('unprocessable', `The file ${name} is empty.`)
  if (size > FILE_BYTES_MAX) throw fileTooLarge()
  const mediaType = detectType(sent)
  if (mediaType === undefined) {
    throw new AppError('unprocessable', typeProblem({ ...sent, name }))
  }
  const hash = createHash('sha256')
  for (const chunk of chunks) hash.update(chunk)
  const sha256 = hash.digest()
  const { id: deploymentId, organizationId } = automation
  const row = { organizationId, deploymentId, name, mediaType, size, sha256 }
  const id = await sql.begin(async (tx) => {
    const [stored] = await tx<[{ id: string; isNew: boolean }]>`
      insert into input_files ${tx(row)}
      on conflict (deployment_id, sha256, name, media_type) do update set created_at = now()
      returning id, xmax = 0 as is_new`
    if (stored.isNew) {
      await refuseTooMuch(tx, organizationId)
      await storeParts(tx, stored.id, chunks)
    }
    return stored.id
  })
  return { id, name, mediaType, size, sha256: sha256.toString('hex') }
}

async function storeParts(
  tx: Queryable,
  fileId: string,
  chunks: readonly Uint8Array[],
): Promise<void> {
  let position = 0
  for await (const content of partsOf(chunks)) {
    await tx`insert into input_file_parts ${tx({ fileId, position, content })}`
    position += 1
  }
}

async function refuseTooMuch(tx: Queryable, organizationId: number): Promise<void> {
  const [{ total }] = await tx<[{ total: number }]>`
    select sum(size)::float8 as total from input_files where organization_id = ${organizationId}`
  if (total <= ORGANIZATION_BYTES_MAX) return
  throw new AppError(
    'payload_too_large',
    `Your organization keeps files of ${ORGANIZATION_BYTES_MAX} bytes, which is the most. Files ` +
      'are deleted with the runs that name them; those that no run names, after a day.',
    { details: { max_bytes: ORGANIZATION_BYTES_MAX } },
  )
}

/** Creates the `payload_too_large` error for a file. */
export const fileTooLarge = (): AppError =>
  new AppError('payload_too_large', `A file has at most ${FILE_BYTES_MAX} bytes.`, {
    details: { max_bytes: FILE_BYTES_MAX },
    // What is left of the body is not read.
    headers: { connection: 'close' },
  })

/** Returns those of these files that are of an automation, by their ids. */
export async function findInputFiles(
  sql: Queryable,
  deploymentId: number,
  ids: readonly string[],
): Promise<Map<string, InputFile>> {
  const rows = await sql<InputFile[]>`
    select id, name, media_type, size, encode(sha256, 'hex') as sha256 from input_files
    where id = any (${ids}::uuid[]) and deployment_id = ${deploymentId}`
  return new Map(rows.map((file) => [file.id, file]))
}

const BATCH_SIZE = 50

/**
 * Deletes files that no run, case or waiting row of a batch names and that are a day old, 50 at a
 * time; returns how many.
 */
export async function deleteUnusedFiles(sql: Queryable): Promise<number> {
  const { count } = await sql`
    delete from input_files where id in (
      select id from input_files f
      where created_at < now() - interval '1 day'
        and not exists (select from run_files where file_id = f.id)
        and not exists (select from batch_row_files where file_id = f.id)
        and not exists (select from case_files where file_id = f.id)
      order by created_at limit ${BATCH_SIZE} for update skip locked)`
  return count
}

import { sqlState } from '../../shared/postgres/failures.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable, Transaction } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { storeParts } from '../../shared/postgres/byte-parts.ts'
import { normalizeToolName } from './python-packages.ts'

/** The largest file of a tool, in bytes. */
export const TOOL_BYTES_MAX = 64 * 1024 * 1024

/** The description of an uploaded file, from the fields of the form. */
export interface ToolDescription {
  readonly name: string
  readonly version: string
  readonly filename: string
  readonly requiresPython: string | null
  /** The content's SHA-256 according to the sender. */
  readonly sha256: Buffer
}

interface ToolUpload {
  readonly repositoryId: number
  readonly uploadedBy: number | null
  readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  /** Called at the end of the content, which may precede the form's fields. */
  readonly describe: () => Promise<ToolDescription>
}

/**
 * Stores one file of a tool, part after part as it comes. Returns `present` when the repository has
 * exactly this file. Raises `payload_too_large`, `unprocessable` when the content does not match
 * its SHA-256, and `conflict` when the repository has another file of that name: files never
 * change.
 */
export async function uploadTool(
  sql: Queryable,
  { repositoryId, uploadedBy, content, describe }: ToolUpload,
): Promise<'stored' | 'present'> {
  return inTransaction(sql, async (tx) => {
    const [{ id }] = await tx<[{ id: number }]>`
      select nextval(pg_get_serial_sequence('tools', 'id'))::int as id`
    const { size, sha256 } = await storeParts(content, {
      bytesMax: TOOL_BYTES_MAX,
      tooLarge,
      store: (part) => tx`insert into tool_parts ${tx({ toolId: id, ...part })}`,
    })
    const description = await describe()
    checkContent(size, sha256, description)
    const { version, filename, requiresPython } = description
    const name = normalizeToolName(description.name)
    try {
      await tx.savepoint(
        (point) => point`
          insert into tools (id, repository_id, uploaded_by, name, version, filename,
            requires_python, size, sha256)
          overriding system value
          values (${id}, ${repositoryId}, ${uploadedBy}, ${name}, ${version}, ${filename},
            ${requiresPython}, ${size}, ${sha256})`,
      )
      return 'stored' as const
    } catch (thrown) {
      if (sqlState(thrown) !== '23505') throw thrown
      await tx`delete from tool_parts where tool_id = ${id}`
      await checkSame(tx, { repositoryId, filename, sha256 })
      return 'present' as const
    }
  })
}

/** Creates the `payload_too_large` error for a file of a tool. */
export const tooLarge = (): AppError =>
  new AppError('payload_too_large', `A file of a tool has at most ${TOOL_BYTES_MAX} bytes.`, {
    details: { max_bytes: TOOL_BYTES_MAX },
    // What is left of the body is not read.
    headers: { connection: 'close' },
  })

function checkContent(size: number, sha256: Buffer, described: ToolDescription): void {
  if (size === 0) throw new AppError('unprocessable', 'The file is empty.')
  if (sha256.equals(described.sha256)) return
  throw new AppError(
    'unprocessable',
    `The file is damaged: its SHA-256 is ${sha256.toString('hex')}, and not ` +
      `${described.sha256.toString('hex')}. Send it again.`,
  )
}

async function checkSame(
  tx: Transaction,
  { repositoryId, filename, sha256 }: { repositoryId: number; filename: string; sha256: Buffer },
): Promise<void> {
  const same = await tx`
    select from tools
    where repository_id = ${repositoryId} and filename = ${filename} and sha256 = ${sha256}`
  if (same.length > 0) return
  throw new AppError(
    'conflict',
    `The repository already has another file ${filename}. Files never change: upload a new ` +
      'version.',
  )
}

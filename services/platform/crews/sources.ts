import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { storeParts } from '../../shared/postgres/byte-parts.ts'
import { requireStorage } from './crew-storage.ts'

/** The largest archive of a source that is kept, in bytes. */
export const SOURCE_BYTES_MAX = 64 * 1024 * 1024
/** The deployments of an automation, counted from the newest, whose sources are kept. */
export const SOURCES_KEPT = 20

/** The commit that a source is of. */
export interface GitOrigin {
  readonly url: string
  readonly ref: string
  readonly commit: string
}

/** What is known of the files of a source. */
export interface SourceDescription {
  /** The SHA-256 of its list of files. */
  readonly digest: Buffer
  /** In bytes. */
  readonly unpackedSize: number
  readonly fileCount: number
  /** What was found in it. */
  readonly facts: Readonly<Record<string, unknown>>
}

/** The files that a crew is built from, as one .tar.gz. */
export interface Source extends SourceDescription {
  readonly id: number
  readonly organizationId: number
  readonly kind: 'archive' | 'git'
  /** The name of the file that was sent, or the repository's. */
  readonly name: string
  /** Of the archive that is kept. */
  readonly archiveSha256: Buffer
  /** Of the archive, in bytes. */
  readonly size: number
  readonly gitUrl: string | null
  readonly gitRef: string | null
  readonly gitCommit: string | null
  /** The last time. */
  readonly sentAt: Date
  /** Since then only what is known of it is kept. */
  readonly filesDeletedAt: Date | null
}

/** A source to store. */
export interface NewSource {
  readonly organizationId: number
  /** null: a token, or a Git repository. */
  readonly uploadedBy: number | null
  readonly name: string
  readonly git?: GitOrigin | undefined
  readonly description: SourceDescription
  /** The bytes of the .tar.gz; not read when the source is there already. */
  readonly content: AsyncIterable<Uint8Array>
  /** The most that the sources and images of its organization take. @default 10 GiB */
  readonly quotaBytes?: number | undefined
}

const columns = (sql: Queryable) => sql`
  id, organization_id, digest, kind, name, archive_sha256, size, unpacked_size, file_count, facts,
  git_url, git_ref, git_commit, sent_at, files_deleted_at`

/**
 * Stores a source, part after part as it comes, or returns the one with the same files. Raises
 * `payload_too_large` for an archive beyond its limit, and `conflict` when the organization has no
 * room left.
 */
export async function storeSource(sql: Database, source: NewSource): Promise<Source> {
  return sql.begin(async (tx) => {
    const { organizationId, content } = source
    const same = await findSame(tx, source)
    if (same?.filesDeletedAt === null) return same
    const [{ id }] = await tx<[{ id: number }]>`
      select nextval(pg_get_serial_sequence('sources', 'id'))::int as id`
    const stored = await storeArchive(tx, id, content)
    await tx`select from organizations where id = ${organizationId} for no key update`
    await requireStorage(tx, { organizationId, quotaBytes: source.quotaBytes }, stored.size)
    // Somebody may have sent the same files meanwhile.
    const other = await findSame(tx, source)
    return other ? restore(tx, other, { id, ...stored }) : insert(tx, id, { source, stored })
  })
}

/** Returns the source with the same files, which counts as sent now. */
async function findSame(
  tx: Transaction,
  { organizationId, description, git }: NewSource,
): Promise<Source | undefined> {
  const [same] = await tx<Source[]>`
    update sources set sent_at = now(), facts = ${JSON.stringify(description.facts)}::text::jsonb
    where organization_id = ${organizationId} and digest = ${description.digest}
      and coalesce(git_commit, '') = ${git?.commit ?? ''}
    returning ${columns(tx)}`
  return same
}

interface Stored {
  readonly size: number
  readonly archiveSha256: Buffer
}

async function storeArchive(
  tx: Transaction,
  sourceId: number,
  content: AsyncIterable<Uint8Array>,
): Promise<Stored> {
  const { size, sha256: archiveSha256 } = await storeParts(content, {
    bytesMax: SOURCE_BYTES_MAX,
    tooLarge: sourceTooLarge,
    store: (part) => tx`insert into source_parts ${tx({ sourceId, ...part })}`,
  })
  return { size, archiveSha256 }
}

/** Creates the `payload_too_large` error for the archive of a source. */
export const sourceTooLarge = (): AppError =>
  new AppError(
    'payload_too_large',
    `The archive of a source has at most ${SOURCE_BYTES_MAX} bytes. Leave out what is made from ` +
      'other files, such as .venv, and what crews do not need, such as .git and data.',
    {
      details: { max_bytes: SOURCE_BYTES_MAX },
      // What is left of the body is not read.
      headers: { connection: 'close' },
    },
  )

async function insert(
  tx: Transaction,
  id: number,
  { source, stored }: { source: NewSource; stored: Stored },
): Promise<Source> {
  const { digest, unpackedSize, fileCount, facts } = source.description
  const { organizationId, uploadedBy, name, git } = source
  const [made] = await tx<[Source]>`
    insert into sources (id, organization_id, digest, kind, name, uploaded_by, archive_sha256, size,
      unpacked_size, file_count, facts, git_url, git_ref, git_commit)
    overriding system value
    values (${id}, ${organizationId}, ${digest}, ${git ? 'git' : 'archive'}, ${name}, ${uploadedBy},
      ${stored.archiveSha256}, ${stored.size}, ${unpackedSize}, ${fileCount},
      ${JSON.stringify(facts)}::text::jsonb, ${git?.url ?? null}, ${git?.ref ?? null},
      ${git?.commit ?? null})
    returning ${columns(tx)}`
  return made
}

/** Gives a source the files again that were deleted with its deployments. */
async function restore(
  tx: Transaction,
  same: Source,
  { id, size, archiveSha256 }: Stored & { readonly id: number },
): Promise<Source> {
  await tx`delete from source_parts where source_id = ${same.id}`
  await tx`update source_parts set source_id = ${same.id} where source_id = ${id}`
  const [restored] = await tx<[Source]>`
    update sources set files_deleted_at = null, size = ${size}, archive_sha256 = ${archiveSha256}
    where id = ${same.id} returning ${columns(tx)}`
  return restored
}

/** Returns a source, if it exists. */
export async function findSource(sql: Queryable, id: number): Promise<Source | undefined> {
  const [found] = await sql<Source[]>`select ${columns(sql)} from sources where id = ${id}`
  return found
}

/** Reads the archive of a source, part after part, each on demand. */
export async function* loadSource(sql: Queryable, id: number): AsyncGenerator<Buffer> {
  for (let position = 0; ; position += 1) {
    const [part] = await sql<{ content: Buffer }[]>`
      select content from source_parts where source_id = ${id} and position = ${position}`
    if (!part) return
    yield part.content
  }
}

/**
 * Deletes the files of the sources that no automation of the organization needs: neither for a
 * deployment that goes on, nor to go back to one of its last `SOURCES_KEPT`. Those of the last day
 * stay, for they may not be deployed yet. Returns how many.
 */
export async function forgetSources(sql: Queryable, organizationId: number): Promise<number> {
  const [{ count }] = await sql<[{ count: number }]>`
    with forgotten as (
      update sources s set files_deleted_at = now()
      where organization_id = ${organizationId} and files_deleted_at is null
        and sent_at < now() - interval '1 day'
        and not exists (
          select from crew_deployments c join crew_settings o on o.deployment_id = c.deployment_id
          where c.source_id = s.id
            and (c.ended_at is null or c.number > o.last_number - ${SOURCES_KEPT}))
      returning id),
    deleted as (
      delete from source_parts p using forgotten f where p.source_id = f.id)
    select count(*)::int as count from forgotten`
  return count
}

import { randomUUID } from 'node:crypto'
import type { Database, Queryable } from '../../../shared/postgres/database.ts'
import type { ObjectStore } from '../../../shared/object-store/object-store.ts'
import { ORGANIZATION, TRACE_ID } from './archived-columns.ts'
import type { ArchivedRow } from './archived-columns.ts'
import { sha256Of } from './archive-store.ts'
import type { ArchivedFile } from './archive-store.ts'
import { writeSpanFile } from './span-file.ts'

/** The database and the store of archived days. */
export interface ArchiveParts {
  readonly sql: Database
  readonly store: ObjectStore
}

/** A file with what is in it. */
export interface DescribedFile extends ArchivedFile {
  /** In ISO 8601. */
  readonly day: string
  readonly organization: string
  readonly firstTrace: string
  readonly lastTrace: string
  readonly spans: number
}

/**
 * Writes rows of one organization as a file that nothing refers to yet: it is removed after a day
 * unless `addFile` is called.
 */
export async function storeFile(
  { sql, store }: ArchiveParts,
  day: string,
  rows: readonly ArchivedRow[],
): Promise<DescribedFile> {
  const path = `day=${day}/${randomUUID()}.parquet`
  const bytes = writeSpanFile(rows)
  await sql`insert into files_to_remove (path, due_at) values (${path}, now() + interval '1 day')`
  await store.write(path, once(bytes))
  return {
    path,
    day,
    bytes: bytes.length,
    sha256: sha256Of(bytes),
    spans: rows.length,
    organization: rows[0]?.[ORGANIZATION] ?? '',
    firstTrace: rows[0]?.[TRACE_ID] ?? '',
    lastTrace: rows.at(-1)?.[TRACE_ID] ?? '',
  }
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

/** Makes a stored file one of its day. */
export async function addFile(sql: Queryable, file: DescribedFile): Promise<void> {
  const { path, day, organization, firstTrace, lastTrace, spans, bytes, sha256 } = file
  await sql`
    with added as (delete from files_to_remove where path = ${path})
    insert into archived_files
      (path, day, organization, first_trace, last_trace, spans, bytes, sha256)
    values (${path}, ${day}::text::date, ${organization}, ${firstTrace}::text::uuid,
      ${lastTrace}::text::uuid, ${spans}, ${bytes}, decode(${sha256}::text, 'hex'))`
}

/**
 * The files of a day in the order of their spans: those whose spans are not in the database, those
 * that are being written, or both.
 */
export const listFiles = (
  sql: Queryable,
  day: string,
  which?: 'cold' | 'written',
): Promise<DescribedFile[]> =>
  sql<DescribedFile[]>`
    select path, day::text, organization, first_trace::text, last_trace::text,
      spans::float8 as spans, bytes::float8 as bytes, encode(sha256, 'hex') as sha256
    from archived_files where day = ${day}::text::date and ${
      which === undefined
        ? sql`true`
        : sql`exists (select from cold_files c where c.path = archived_files.path)
            = ${which === 'cold'}`
    }
    order by organization collate "C", first_trace, last_trace, added`

/** Takes the files that fit a condition out of their days; they are removed later. */
export async function dropFiles(sql: Queryable, condition: ReturnType<Queryable>): Promise<void> {
  await sql`
    with dropped as (delete from archived_files where ${condition} returning path)
    insert into files_to_remove (path) select path from dropped
    on conflict (path) do update set due_at = now()`
}

/** The condition for files that have no trace under a hold. */
export const withoutHeld = (sql: Queryable) => sql`
  not exists (
    select from held_traces h where h.organization = archived_files.organization
      and h.trace_id between first_trace and last_trace)`

/** Files that are removed in one go. */
const REMOVED = 1000

/** Removes files that nothing refers to any more. Returns how many; the rest is for later. */
export async function removeFiles({ sql, store }: ArchiveParts): Promise<number> {
  const due = await sql<{ path: string }[]>`
    select path from files_to_remove where due_at <= now() order by due_at limit ${REMOVED}`
  for (const { path } of due) {
    await store.remove(path)
    await sql`delete from files_to_remove where path = ${path}`
  }
  return due.length
}

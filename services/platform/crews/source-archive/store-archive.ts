import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Database } from '../../../shared/postgres/database.ts'
import { writeTar } from '../../../shared/tar/write-tar.ts'
import type { TarFile } from '../../../shared/tar/write-tar.ts'
import { storeSource } from '../sources.ts'
import type { NewSource, Source } from '../sources.ts'
import { readEntryPath } from './entry-path.ts'
import { inspectArchive } from './inspect.ts'
import type { InspectOptions, Inspection } from './inspect.ts'
import { openArchive } from './open-archive.ts'
import type { OpenArchive } from './archive-entry.ts'

/** Whose source an archive becomes. */
interface ArchiveOwner extends InspectOptions, Omit<NewSource, 'description' | 'content'> {}

/**
 * Stores the project in an archive on the disk as a source: only its own files, in an archive that
 * holds nothing else than plain files. Raises as `inspectArchive` and `storeSource` do.
 */
export async function storeArchive(
  sql: Database,
  path: string,
  owner: ArchiveOwner,
): Promise<Source> {
  const archive = await openArchive(path)
  const { directory, entrypoint, ...source } = owner
  const inspection = await inspectArchive(archive, { directory, entrypoint })
  const { digest, unpackedSize, fileCount, facts } = inspection
  const description = { digest, unpackedSize, fileCount, facts }
  return storeSource(sql, { ...source, description, content: pack(archive, inspection) })
}

/** Returns the files of a project as the .tar.gz that is kept. */
async function* pack(archive: OpenArchive, inspection: Inspection): AsyncGenerator<Buffer> {
  const gzip = createGzip()
  const writing = pipeline(Readable.from(writeTar(filesOf(archive, inspection))), gzip)
  // It ends the reading below as well.
  writing.catch(() => {})
  for await (const chunk of gzip) yield chunk
  await writing
}

async function* filesOf(
  archive: OpenArchive,
  { files, root }: Inspection,
): AsyncGenerator<TarFile> {
  for await (const entry of archive.entries()) {
    const path = readEntryPath(entry.path)
    const file = entry.kind === 'file' ? files.get(path) : undefined
    if (file) yield { ...file, path: path.slice(root.length), content: entry.content() }
  }
}

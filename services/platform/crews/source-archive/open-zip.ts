import { openPromise } from 'yauzl'
import type { Entry, ZipFile } from 'yauzl'
import { AppError } from '../../../shared/errors.ts'
import type { EntryKind } from '../../../shared/tar/read-tar.ts'
import { refuseEntry, show } from './entry-path.ts'
import { ENTRIES_MAX, tooManyFiles } from './limits.ts'
import type { ArchiveEntry, OpenArchive } from './archive-entry.ts'

/** Opens a ZIP archive on the disk. Raises `invalid_request` for a damaged one. */
export async function openZip(path: string): Promise<OpenArchive> {
  const archive = await openFile(path)
  archive.close()
  if (archive.entryCount > ENTRIES_MAX) throw tooManyFiles()
  return { entries: () => readEntries(path) }
}

async function openFile(path: string): Promise<ZipFile> {
  try {
    // Names are decoded here, for those that are not UTF-8 are refused rather than guessed.
    return await openPromise(path, { lazyEntries: true, decodeStrings: false })
  } catch {
    throw damaged('it is cut off or damaged')
  }
}

async function* readEntries(path: string): AsyncGenerator<ArchiveEntry> {
  const archive = await openFile(path)
  try {
    for await (const entry of archive.eachEntry()) yield toEntry(archive, entry)
  } catch (thrown) {
    throw thrown instanceof AppError ? thrown : damaged('it is cut off or damaged')
  } finally {
    archive.close()
  }
}

const KIND_BITS = 0o170000
const KINDS: Readonly<Record<number, EntryKind>> = {
  0o120000: 'symbolic link',
  0o010000: 'pipe',
  0o020000: 'device',
  0o060000: 'device',
}

function toEntry(archive: ZipFile, entry: Entry): ArchiveEntry {
  const path = Buffer.from(entry.fileName)
  const mode = entry.externalFileAttributes >>> 16
  const isFolder = path.at(-1) === 0x2f
  return {
    path,
    kind: KINDS[mode & KIND_BITS] ?? (isFolder ? 'folder' : 'file'),
    size: entry.uncompressedSize,
    isExecutable: (mode & 0o100) !== 0,
    content: () => readContent(archive, entry, path),
  }
}

async function* readContent(archive: ZipFile, entry: Entry, path: Buffer): AsyncGenerator<Buffer> {
  const name = path.toString('utf8')
  if (entry.isEncrypted()) throw refuseEntry(name, 'is encrypted. Pack it without a password')
  const stream = await archive.openReadStreamPromise(entry).catch(() => undefined)
  if (!stream) throw refuseEntry(name, 'is compressed in a way that is not read. Use Deflate')
  try {
    for await (const chunk of stream) yield chunk
  } catch {
    throw damaged(`${show(name)} in it is cut off or damaged`)
  }
}

const damaged = (why: string): AppError =>
  new AppError('invalid_request', `The ZIP archive cannot be read: ${why}.`)

import { fromBufferPromise } from 'yauzl'
import type { Entry, ZipFile } from 'yauzl'
import {
  PROJECT_BYTES_MAX,
  PROJECT_FILES_MAX,
  checkPath,
  isProjectFile,
  tooLarge,
} from '../../../platform/projects/crewai/project-files.ts'
import type { ProjectFiles } from '../../../platform/projects/crewai/project-files.ts'
import { AppError } from '../../../shared/errors.ts'

const SYMBOLIC_LINK = 0o120000
const KIND = 0o170000

/** Returns true for bytes that begin like a ZIP archive. */
export const isZip = (bytes: Buffer): boolean => bytes.subarray(0, 4).equals(ZIP)

const ZIP = Buffer.from('PK\u0003\u0004', 'latin1')

/** Returns the name of another kind of archive that bytes begin like. */
export const otherArchive = (bytes: Buffer): string | undefined =>
  OTHERS.find(([start]) => bytes.subarray(0, start.length).equals(Buffer.from(start)))?.[1]

const OTHERS: readonly (readonly [readonly number[], string])[] = [
  [[0x1f, 0x8b], 'gzip'],
  [[0x42, 0x5a, 0x68], 'bzip2'],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a], 'xz'],
  [[0x37, 0x7a, 0xbc, 0xaf], '7z'],
  [[0x52, 0x61, 0x72, 0x21], 'RAR'],
]

/** What is read of an archive. */
interface ZipBounds {
  /** Of all files together. */
  readonly bytesMax: number
  readonly filesMax: number
  readonly tooLarge: () => AppError
  readonly isWanted: (path: string) => boolean
}

const PROJECT: ZipBounds = {
  bytesMax: PROJECT_BYTES_MAX,
  filesMax: PROJECT_FILES_MAX,
  tooLarge,
  isWanted: isProjectFile,
}

/**
 * Reads the files of a ZIP archive. Raises `invalid_request` for one that is damaged, encrypted, or
 * leads out of its folder, and `payload_too_large` as soon as it grows to more than a project may.
 */
export async function readZip(bytes: Buffer, bounds: ZipBounds = PROJECT): Promise<ProjectFiles> {
  const { bytesMax, filesMax, tooLarge, isWanted } = bounds
  const files = new Map<string, Uint8Array>()
  let size = 0
  const archive = await open(bytes)
  if (archive.entryCount > 4 * filesMax) throw tooLarge()
  try {
    for await (const entry of archive.eachEntry()) {
      if (isFolder(entry)) continue
      checkPath(entry.fileName)
      if (!isWanted(entry.fileName)) continue
      const room = bytesMax - size
      const content = await readEntry(archive, entry, { room, tooLarge })
      size += content.byteLength
      if (files.size === filesMax) throw tooLarge()
      if (files.has(entry.fileName)) throw damaged(`it has ${entry.fileName} twice`)
      files.set(entry.fileName, content)
    }
    return files
  } catch (thrown) {
    throw thrown instanceof AppError ? thrown : damaged('it is cut off or damaged')
  } finally {
    archive.close()
  }
}

async function open(bytes: Buffer): Promise<ZipFile> {
  try {
    return await fromBufferPromise(bytes, { lazyEntries: true, strictFileNames: true })
  } catch {
    throw damaged('it is cut off or damaged')
  }
}

function isFolder({ fileName, externalFileAttributes }: Entry): boolean {
  if (((externalFileAttributes >>> 16) & KIND) === SYMBOLIC_LINK) {
    throw damaged(`${fileName.slice(0, 100)} is a symbolic link`)
  }
  return fileName.endsWith('/')
}

/** What an archive says of its sizes is checked while it is read. */
async function readEntry(
  archive: ZipFile,
  entry: Entry,
  { room, tooLarge }: { readonly room: number; readonly tooLarge: () => AppError },
): Promise<Buffer> {
  if (entry.isEncrypted()) throw damaged('it is encrypted')
  if (entry.uncompressedSize > room) throw tooLarge()
  const chunks: Buffer[] = []
  for await (const chunk of await archive.openReadStreamPromise(entry)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const damaged = (why: string): AppError =>
  new AppError('invalid_request', `The ZIP archive cannot be read: ${why}.`)

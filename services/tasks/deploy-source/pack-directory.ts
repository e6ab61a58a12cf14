import { createReadStream } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import {
  isLeftOut,
  readEntryPath,
  refuseEntry,
} from '../../platform/crews/source-archive/entry-path.ts'
import {
  SOURCE_FILES_MAX,
  UNPACKED_BYTES_MAX,
  tooManyBytes,
  tooManyFiles,
} from '../../platform/crews/source-archive/limits.ts'
import { AppError } from '../../shared/errors.ts'
import { writeTar } from '../../shared/tar/write-tar.ts'
import type { TarFile } from '../../shared/tar/write-tar.ts'

/** A file of a project on the disk. */
interface LocalFile {
  /** Relative to the project, with /. */
  readonly path: string
  readonly size: number
  readonly isExecutable: boolean
}

/**
 * Lists the files of a project in a directory, by path, without those that no source keeps. Raises
 * `invalid_request` for links and odd names, and `payload_too_large`.
 */
export async function listProjectFiles(directory: string): Promise<LocalFile[]> {
  const files: LocalFile[] = []
  let room = UNPACKED_BYTES_MAX
  const walk = async (folder: string): Promise<void> => {
    for (const name of (await readFolder(join(directory, folder))).toSorted()) {
      const path = readEntryPath(Buffer.from(folder === '' ? name : `${folder}/${name}`))
      if (isLeftOut(path)) continue
      const facts = await lstat(join(directory, path))
      if (facts.isDirectory()) {
        await walk(path)
        continue
      }
      if (!facts.isFile()) {
        throw refuseEntry(path, 'is a link or no file. Put the file itself in its place')
      }
      room -= facts.size
      if (room < 0) throw tooManyBytes()
      if (files.length === SOURCE_FILES_MAX) throw tooManyFiles()
      files.push({ path, size: facts.size, isExecutable: (facts.mode & 0o100) !== 0 })
    }
  }
  await walk('')
  if (files.length === 0) throw new AppError('invalid_request', `${directory} has no files.`)
  return files
}

async function readFolder(path: string): Promise<string[]> {
  try {
    return await readdir(path)
  } catch {
    throw new AppError('invalid_request', `${path} cannot be read as a directory.`)
  }
}

/** Returns files as a .tar.gz, read as they are asked for. */
export async function* packFiles(
  directory: string,
  files: readonly LocalFile[],
): AsyncGenerator<Buffer> {
  const gzip = createGzip()
  const writing = pipeline(Readable.from(writeTar(open(directory, files))), gzip)
  // It ends the reading below as well.
  writing.catch(() => {})
  for await (const chunk of gzip) yield chunk
  await writing
}

async function* open(directory: string, files: readonly LocalFile[]): AsyncGenerator<TarFile> {
  for (const file of files) yield { ...file, content: createReadStream(join(directory, file.path)) }
}

import { createReadStream } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { AppError } from '../../../shared/errors.ts'
import { readTar } from '../../../shared/tar/read-tar.ts'
import type { OpenArchive } from './archive-entry.ts'
import { openZip } from './open-zip.ts'

/**
 * Opens a .zip, .tar.gz or .tar by how it begins. Raises `invalid_request` for anything else, and
 * for an archive that is damaged, some of it only when its entries are read.
 */
export async function openArchive(path: string): Promise<OpenArchive> {
  const head = await readHead(path)
  if (startsWith(head, 'PK\u0003\u0004') || startsWith(head, 'PK\u0005\u0006')) {
    return openZip(path)
  }
  if (head[0] === 0x1f && head[1] === 0x8b) return openTar(() => gunzip(path))
  if (head.toString('latin1', 257, 262) === 'ustar') return openTar(() => createReadStream(path))
  throw new AppError('invalid_request', `The source is ${nameOf(head)}: send a .zip or a .tar.gz.`)
}

async function readHead(path: string): Promise<Buffer> {
  const file = await openFile(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

const startsWith = (head: Buffer, text: string): boolean =>
  head.subarray(0, text.length).equals(Buffer.from(text, 'latin1'))

const OTHERS: readonly (readonly [start: string, name: string])[] = [
  ['BZh', 'a bzip2 archive'],
  ['\u00fd7zXZ', 'an xz archive'],
  ['\u0028\u00b5\u002f\u00fd', 'a zstd archive'],
  ['7z\u00bc\u00af', 'a 7z archive'],
  ['Rar!', 'a RAR archive'],
  ['<', 'an HTML or XML page, perhaps that of a sign-in'],
]

function nameOf(head: Buffer): string {
  if (head.length === 0) return 'empty'
  return OTHERS.find(([start]) => startsWith(head, start))?.[1] ?? 'no archive'
}

const openTar = (read: () => AsyncIterable<Uint8Array>): OpenArchive => ({
  async *entries() {
    for await (const entry of readTar(read())) {
      yield { ...entry, isExecutable: (entry.mode & 0o100) !== 0 }
    }
  },
})

async function* gunzip(path: string): AsyncGenerator<Buffer> {
  const inflated = createGunzip()
  // What goes wrong is raised where the bytes are read.
  pipeline(createReadStream(path), inflated, () => {})
  try {
    for await (const chunk of inflated) yield chunk
  } catch {
    throw new AppError(
      'invalid_request',
      'The .tar.gz cannot be read: its compression is damaged or cut off. Send it again.',
    )
  } finally {
    inflated.destroy()
  }
}

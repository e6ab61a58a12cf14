import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { AppError } from '../../../shared/errors.ts'
import { readTar } from '../../../shared/tar/read-tar.ts'
import type { TarEntry } from '../../../shared/tar/read-tar.ts'

const FILES_MAX = 20_000
const BYTES_MAX = 256 * 1024 * 1024

interface Unpacking {
  /** A .tar.gz. */
  readonly archive: AsyncIterable<Uint8Array>
  /** The folder to make. */
  readonly to: string
  readonly signal: AbortSignal
}

/**
 * Unpacks a source. It was checked when it was stored, and is not trusted for that. Raises
 * `unprocessable` for what should not be in it.
 */
export async function unpackSource({ archive, to, signal }: Unpacking): Promise<void> {
  await mkdir(to)
  const unpacked = createGunzip()
  // What goes wrong there ends the reading below as well. Behind the end of a tar archive there may
  // be more, which nobody reads: that is not wrong.
  pipeline(Readable.from(archive), unpacked, { signal }).catch(() => {})
  try {
    let [files, bytes] = [0, 0]
    for await (const entry of readTar(unpacked)) {
      files += 1
      bytes += entry.size
      if (files > FILES_MAX || bytes > BYTES_MAX) throw refused('it is too large')
      await unpack(entry, to)
    }
  } finally {
    unpacked.destroy()
  }
}

async function unpack({ path, kind, mode, content }: TarEntry, folder: string): Promise<void> {
  const parts = path
    .toString('utf8')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
  if (path[0] === SLASH || parts.includes('..')) throw refused('it has a path that leads out of it')
  const target = join(folder, ...parts)
  if (kind === 'folder') return void (await mkdir(target, { recursive: true }))
  if (kind !== 'file' || parts.length === 0) throw refused(`it has a ${kind}`)
  await mkdir(dirname(target), { recursive: true })
  const permissions = (mode & 0o100) === 0 ? 0o644 : 0o755
  await pipeline(content(), createWriteStream(target, { flags: 'wx', mode: permissions }))
}

const SLASH = 0x2f

const refused = (why: string): AppError =>
  new AppError('unprocessable', `The archive of the source is not unpacked: ${why}.`)

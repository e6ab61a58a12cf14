import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AppError } from '../errors.ts'
import type { ObjectStore, StoredFile } from './object-store.ts'

/** Of a file that is being written. */
const UNFINISHED = '.unfinished'

/** Keeps files in a directory, such as the mount of a volume. */
export function createDirectoryStore(directory: string): ObjectStore {
  const at = (path: string): string => join(directory, path)
  return {
    place: directory,
    async list() {
      const names = await readdir(directory, { recursive: true }).catch(unlessMissing)
      const files = await Promise.all(names.map((path) => describe(directory, path)))
      return files.filter((file) => file !== undefined)
    },
    async *read(path) {
      try {
        for await (const chunk of createReadStream(at(path), { highWaterMark: 256 * 1024 })) {
          yield chunk as Buffer
        }
      } catch (thrown) {
        if (!isMissing(thrown)) throw thrown
        throw new AppError('not_found', `There is no ${path} in ${directory}.`)
      }
    },
    async write(path, content) {
      const unfinished = `${at(path)}${UNFINISHED}`
      await mkdir(dirname(unfinished), { recursive: true })
      const file = await open(unfinished, 'w', 0o600)
      try {
        for await (const chunk of content) await file.write(chunk)
        await file.sync()
      } catch (thrown) {
        await rm(unfinished, { force: true })
        throw thrown
      } finally {
        await file.close()
      }
      await rename(unfinished, at(path))
    },
    async remove(path) {
      await rm(at(path), { force: true })
      // The directory goes with its last file.
      await rmdir(dirname(at(path))).catch(() => {})
    },
  }
}

async function describe(directory: string, path: string): Promise<StoredFile | undefined> {
  const found = await stat(join(directory, path))
  return found.isFile() ? { path, bytes: found.size } : undefined
}

const isMissing = (thrown: unknown): boolean =>
  thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT'

function unlessMissing(thrown: unknown): string[] {
  if (isMissing(thrown)) return []
  throw thrown
}

import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { link, mkdir, open, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
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
    async writeNew(path, content) {
      await mkdir(dirname(at(path)), { recursive: true })
      const unfinished = `${at(path)}.${randomBytes(4).toString('hex')}${UNFINISHED}`
      await writeFile(unfinished, content, { mode: 0o600, flush: true })
      try {
        // Unlike a rename, it fails where a file is.
        await link(unfinished, at(path))
        return true
      } catch (thrown) {
        if (!hasCode(thrown, 'EEXIST')) throw thrown
        return false
      } finally {
        await rm(unfinished, { force: true })
      }
    },
    async remove(path) {
      await rm(at(path), { force: true })
      // Of a program that was killed while it wrote the file.
      await rm(`${at(path)}${UNFINISHED}`, { force: true })
      // The directory goes with its last file.
      await rmdir(dirname(at(path))).catch(() => {})
    },
  }
}

async function describe(directory: string, path: string): Promise<StoredFile | undefined> {
  const found = await stat(join(directory, path))
  return found.isFile() ? { path, bytes: found.size } : undefined
}

const hasCode = (thrown: unknown, code: string): boolean =>
  thrown instanceof Error && 'code' in thrown && thrown.code === code
const isMissing = (thrown: unknown): boolean => hasCode(thrown, 'ENOENT')

function unlessMissing(thrown: unknown): string[] {
  if (isMissing(thrown)) return []
  throw thrown
}

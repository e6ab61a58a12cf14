import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import type { EnvSource } from '../shared/env.ts'
import { serverOwner } from './postgres-binaries.ts'

const run = promisify(execFile)

/** What is unfinished for so long, nobody finishes any more. */
const ABANDONED_MS = 3_600_000

/** The folder of this project in the user's cache. */
export function userCache({ XDG_CACHE_HOME: given = '' }: EnvSource): string {
  // The XDG Base Directory Specification has relative ones ignored.
  return join(isAbsolute(given) ? given : join(homedir(), '.cache'), 'crew-platform')
}

/** A data directory as initdb makes it, which serves the starts on empty directories. */
export interface DataTemplate {
  /**
   * Puts a copy in the place of an empty directory, and returns whether there is a template that is
   * whole: one that is not is removed. The superuser has the password that it was made with.
   */
  take(directory: string): Promise<boolean>
  /** Keeps a copy of a directory on which no server has run yet, where the cache can be written. */
  keep(directory: string): Promise<void>
}

/** Creates a template in the user's cache. The name says all that data directories differ in. */
export function createDataTemplate(cache: string, name: string): DataTemplate {
  const kept = join(cache, 'postgres', name)
  const aside = (): string => `${kept}.unfinished-${randomBytes(6).toString('hex')}`
  return {
    async take(directory) {
      const [copy, broken] = [`${directory}.${process.pid}`, aside()]
      try {
        await requireOwn(kept)
        await run('cp', ['-R', join(kept, 'data'), copy])
        await requireWhole(copy, await readFile(join(kept, 'digest'), 'utf8'))
        await giveToServer(copy)
        await rename(copy, directory)
        return true
      } catch {
        await rename(kept, broken).catch(() => {})
        await remove(copy, broken)
        return false
      }
    },
    async keep(directory) {
      const unfinished = aside()
      try {
        await mkdir(unfinished, { recursive: true, mode: 0o700 })
        await removeAbandoned(dirname(kept))
        await run('cp', ['-R', directory, join(unfinished, 'data')])
        await writeFile(join(unfinished, 'digest'), digestOf(directory))
        // Another start finds a whole one or none.
        await rename(unfinished, kept)
      } catch {
        // The cache cannot be written or is full, or another start was faster.
        await remove(unfinished)
      }
    },
  }
}

/** In a cache that others can write, too, PostgreSQL does not run with what they put there. */
async function requireOwn(path: string): Promise<void> {
  const { uid } = await stat(path)
  if (uid !== process.getuid?.()) throw new Error(`${path} belongs to another user`)
}

/** A program that cleans the cache up, or a machine that lost its power, may have left a part. */
async function requireWhole(directory: string, digest: string): Promise<void> {
  if (digestOf(directory) !== digest) throw new Error('a part of the template is missing')
}

/** Small files are read several times faster without a thread for each. */
function digestOf(directory: string): string {
  const hash = createHash('sha256')
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  const paths = entries.map((entry) => [join(entry.parentPath, entry.name), entry] as const)
  for (const [path, entry] of paths.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`\n${path.slice(directory.length)}\n`)
    if (entry.isFile()) hash.update(readFileSync(path))
  }
  return hash.digest('hex')
}

async function giveToServer(directory: string): Promise<void> {
  const { uid, gid } = serverOwner
  if (uid !== undefined) await run('chown', ['-R', `${uid}:${gid}`, directory])
}

async function removeAbandoned(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.includes('.unfinished-'))
  for (const path of names.map((name) => join(folder, name))) {
    const { mtimeMs } = await stat(path)
    if (mtimeMs < Date.now() - ABANDONED_MS) await remove(path)
  }
}

async function remove(...paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { recursive: true, force: true }).catch(() => {})
}

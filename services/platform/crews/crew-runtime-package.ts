import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Database } from '../../shared/postgres/database.ts'
import {
  buildPythonPackage,
  readPythonPackage,
} from '../../shared/python-package/python-package.ts'
import type { Distribution, PythonPackage } from '../../shared/python-package/python-package.ts'
import { uploadTool } from '../tools/tool-uploads.ts'
import { listTools } from '../tools/tools.ts'
import type { Tool } from '../tools/tools.ts'

/** The most times that a version is published with another content. */
const POST_MAX = 1000

/**
 * Publishes the Python package that makes crews of projects in a tool repository, and returns the
 * version that it has there. A version that is there with another content, as one that was changed
 * without a release, gets a `.postN`, since files never change. Safe to run again.
 */
export async function publishCrewRuntime(
  sql: Database,
  repositoryId: number,
  { version, folder = findFolder() }: { readonly version: string; readonly folder?: URL },
): Promise<string> {
  const made = await readPythonPackage(folder)
  const present = await listTools(sql, repositoryId, made.name)
  const chosen = chooseVersion(made, version, present)
  for (const distribution of buildPythonPackage(made, chosen)) {
    const { filename, content } = distribution
    const sha256 = digest(distribution)
    const about = { name: made.name, version: chosen, filename, sha256 }
    await uploadTool(sql, {
      repositoryId,
      uploadedBy: null,
      content: [content],
      describe: async () => ({ ...about, requiresPython: made.requiresPython }),
    })
  }
  return chosen
}

/** The newest version that is there if it has this content; else the next one. */
function chooseVersion(made: PythonPackage, version: string, present: readonly Tool[]): string {
  const digests = new Map(present.map(({ filename, sha256 }) => [filename, sha256]))
  let chosen = version
  for (let post = 1; post <= POST_MAX; post += 1) {
    const next = `${version}.post${post}`
    const isTaken = present.some((each) => each.version === next)
    const files = buildPythonPackage(made, chosen)
    const isFree = files.every(({ filename }) => !digests.has(filename))
    const isSame = files.every((file) => digests.get(file.filename)?.equals(digest(file)) ?? true)
    if (isFree || (isSame && !isTaken)) return chosen
    chosen = next
  }
  throw new Error(`${made.name} ${version} was published ${POST_MAX} times`)
}

const digest = ({ content }: Distribution): Buffer => createHash('sha256').update(content).digest()

/** Beside the bundles of services, or at the root of the repository. */
function findFolder(): URL {
  const places = ['../python/crew-runtime/', '../../../python/crew-runtime/']
  const [found] = places
    .map((place) => new URL(place, import.meta.url))
    .filter((url) => existsSync(url))
  if (!found) throw new Error('The Python package crew-runtime is not part of this build.')
  return found
}

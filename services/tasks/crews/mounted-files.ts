import { readFile } from 'node:fs/promises'
import { AppError, toError } from '../../shared/errors.ts'

/** A Secret holds 1 MiB at the most. */
const BYTES_MAX = 512 * 1024

/** A file that Kubernetes mounts into this pod. Raises `invalid_configuration` when it cannot be read or is too large. */
export async function readMountedFile(variable: string, path: string): Promise<string> {
  let content: Buffer
  try {
    content = await readFile(path)
  } catch (thrown) {
    const why = toError(thrown).message
    throw new AppError('invalid_configuration', `${variable}: cannot read ${path}: ${why}`)
  }
  if (content.length <= BYTES_MAX) return content.toString('utf8')
  throw new AppError(
    'invalid_configuration',
    `${variable}: ${path} has ${content.length} bytes; at most ${BYTES_MAX} fit into the Secret of a crew. Leave certificates out that no crew needs.`,
  )
}

import { readFile } from 'node:fs/promises'
import { AppError, toError } from '../errors.ts'

/** A Secret holds 1 MiB at the most. */
const BYTES_MAX = 512 * 1024

/**
 * A file that Kubernetes mounts into this pod. Raises `invalid_configuration` when it cannot be
 * read or is too large.
 */
export async function readMountedFile(variable: string, path: string): Promise<string> {
  const content = await findMountedFile(variable, path)
  if (content !== undefined) return content
  throw new AppError('invalid_configuration', `${variable}: there is no file ${path}.`)
}

/** The same for a file that may be missing. */
export async function findMountedFile(variable: string, path: string): Promise<string | undefined> {
  let content: Buffer
  try {
    content = await readFile(path)
  } catch (thrown) {
    const error = toError(thrown)
    if ('code' in error && error.code === 'ENOENT') return undefined
    throw new AppError(
      'invalid_configuration',
      `${variable}: cannot read ${path}: ${error.message}`,
    )
  }
  if (content.length <= BYTES_MAX) return content.toString('utf8')
  throw new AppError(
    'invalid_configuration',
    `${variable}: ${path} has ${content.length} bytes; at most ${BYTES_MAX} fit into the ` +
      'Secret of a crew. Leave out what no crew needs.',
  )
}

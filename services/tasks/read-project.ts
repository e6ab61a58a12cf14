import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  PROJECT_BYTES_MAX,
  PROJECT_FILES_MAX,
  isProjectFile,
  isProjectFolder,
  tooLarge,
} from '../platform/projects/crewai/project-files.ts'
import type { ProjectFiles } from '../platform/projects/crewai/project-files.ts'
import { AppError } from '../shared/errors.ts'

/**
 * Reads the files of a project from a directory, without hidden folders and links. Raises
 * `invalid_request` and `payload_too_large`.
 */
export async function readProject(directory: string): Promise<ProjectFiles> {
  const found = await stat(directory).catch(() => undefined)
  if (!found?.isDirectory()) {
    throw new AppError('invalid_request', `${directory} is not a directory that can be read.`)
  }
  const files = new Map<string, Uint8Array>()
  let bytes = 0
  for await (const path of listFiles(directory)) {
    bytes += (await stat(join(directory, path))).size
    if (files.size >= PROJECT_FILES_MAX || bytes > PROJECT_BYTES_MAX) throw tooLarge()
    files.set(path, await readFile(join(directory, path)))
  }
  return files
}

async function* listFiles(directory: string, prefix = ''): AsyncGenerator<string> {
  for (const entry of await readdir(join(directory, prefix), { withFileTypes: true })) {
    if (entry.isDirectory() && isProjectFolder(entry.name))
      yield* listFiles(directory, `${prefix}${entry.name}/`)
    else if (entry.isFile() && isProjectFile(entry.name)) yield `${prefix}${entry.name}`
  }
}

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { importCrew } from '../../../../../services/platform/projects/crewai/import-crew.ts'
import type { CrewImport } from '../../../../../services/platform/projects/crewai/import-crew.ts'
import type { ProjectFiles } from '../../../../../services/platform/projects/crewai/project-files.ts'
import type { Script } from './scripted-model.ts'

const CORPUS = new URL('corpus/', import.meta.url).pathname
const SCRIPT = 'script.json'

/** The projects that CrewAI and the platform both run. */
export const PROJECTS = readdirSync(CORPUS).toSorted()

/** Reads a file of the tests' own. */
export const readScript = (project: string): Script =>
  JSON.parse(readFileSync(join(CORPUS, project, SCRIPT), 'utf8'))

/** The files of a project, with the address of the MCP server that it names. */
export function readCorpus(project: string, mcpUrl: string): ProjectFiles {
  const folder = join(CORPUS, project)
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return new Map(
    entries
      .filter((entry) => entry.isFile() && entry.name !== SCRIPT)
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [
        path.slice(folder.length + 1),
        Buffer.from(readFileSync(path, 'utf8').replaceAll('MCP_URL', mcpUrl)),
      ]),
  )
}

/** Imports a project of the corpus. */
export const importCorpus = (project: string, mcpUrl: string): CrewImport =>
  importCrew(readCorpus(project, mcpUrl))

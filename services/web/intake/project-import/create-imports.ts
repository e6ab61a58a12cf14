import { importCrew } from '../../../platform/projects/crewai/import-crew.ts'
import type { CrewImport } from '../../../platform/projects/crewai/import-crew.ts'
import type { ProjectFiles } from '../../../platform/projects/crewai/project-files.ts'
import { limitConcurrency } from '../../http/limit-concurrency.ts'

/** Each holds a project in memory, and reads it in one go. */
const IMPORTS = {
  concurrent: 2,
  waitingMax: 20,
  busy: 'Too many imports are in progress. Try again in a moment.',
}

/**
 * Creates what reads the files of a project and imports them, a few at a time. The function raises
 * what reading raises, and `unavailable` when too many wait.
 */
export const createImports = (): ((read: () => Promise<ProjectFiles>) => Promise<CrewImport>) =>
  limitConcurrency(async (read) => importCrew(await read()), IMPORTS)

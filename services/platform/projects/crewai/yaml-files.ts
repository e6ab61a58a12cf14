import { AppError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/is-object.ts'
import type { ProjectParts } from './crew-files.ts'
import { readCrewProgram } from './crew-program.ts'
import type { CrewProgram, FoundProgram } from './crew-program.ts'
import { fieldsOf, kindOf } from './fields.ts'
import type { Part } from './fields.ts'
import { findFiles, folderOf, readProjectText, readProjectValue } from './project-files.ts'
import type { ProjectFiles } from './project-files.ts'
import { readMethods } from './program-parts.ts'
import type { Report } from './report.ts'

/** The names of the files of a project in YAML. */
export const YAML_FILES = { agents: /^agents\.ya?ml$/, tasks: /^tasks\.ya?ml$/ }

/**
 * Reads a project of `agents.yaml` and `tasks.yaml`, and of what the class with `@CrewBase` says of
 * them: the order of the tasks is that of its methods. Undefined when it cannot be read.
 */
export function readYamlFiles(files: ProjectFiles, report: Report): ProjectParts | undefined {
  const programs = findPrograms(files, report)
  const [found] = programs
  const named = {
    agents: findEntries(files, 'agents', found),
    tasks: findEntries(files, 'tasks', found),
  }
  const ambiguous = [programs.map(({ file }) => file), named.agents, named.tasks]
  for (const paths of ambiguous.filter(({ length }) => length > 1)) {
    report.refuse({ file: paths[1] ?? '', key: '' }, several(paths))
    return undefined
  }
  const agents = readEntries(files, named.agents[0], report)
  const tasks = readEntries(files, named.tasks[0], report)
  const read = [...named.tasks, ...named.agents, ...programs.map(({ file }) => file)]
  const root = rootOf(files, folderOf(read[0] ?? ''))
  if (found) return { ...readMethods(found, { agents, tasks }, report), read, root }
  report.note(
    { file: named.tasks[0] ?? '', key: '' },
    'The project has no class with @CrewBase, whose methods decide the order of tasks in CrewAI. ' +
      'Tasks run in the order of this file.',
  )
  return { agents, tasks, crew: new Map(), read, root }
}

/** The file that the class names, or those that could be meant. */
function findEntries(
  files: ProjectFiles,
  kind: 'agents' | 'tasks',
  found: FoundProgram | undefined,
): string[] {
  const given = found?.program.attributes.get(`${kind}_config`)
  const path = given?.kind === 'value' ? String(given.value) : `config/${kind}.yaml`
  const named = `${folderOf(found?.file ?? '')}${path}`
  return found && files.has(named) ? [named] : findFiles(files, YAML_FILES[kind])
}

/** The folder that `knowledge` is in. */
function rootOf(files: ProjectFiles, folder: string): string {
  const [project] = findFiles(files, /^pyproject\.toml$/)
  return project === undefined ? folder.replace(/config\/$/, '') : folderOf(project)
}

const findPrograms = (files: ProjectFiles, report: Report): FoundProgram[] =>
  findFiles(files, /\.py$/).flatMap((file) => {
    const bytes = files.get(file) ?? new Uint8Array()
    const program = hasCrewBase(bytes) ? readProgram(files, file, report) : undefined
    return program ? [{ file, program }] : []
  })

/** Returns true for a program that may have a class with `@CrewBase`. */
export const hasCrewBase = (bytes: Uint8Array): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('@CrewBase')

function readProgram(files: ProjectFiles, file: string, report: Report): CrewProgram | undefined {
  const text = readProjectText(files, file, report)
  if (text === undefined) return undefined
  try {
    return readCrewProgram(text)
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    report.refuse({ file, key: '' }, thrown.message)
    return undefined
  }
}

const several = (files: readonly string[]): string =>
  `This is more than one crew: ${files.slice(0, 10).join(', ')}. Import the folder of one of ` +
  'them. What puts several together, such as a flow, needs a crew of its own: see ' +
  'docs/crew-contract.md.'

function readEntries(files: ProjectFiles, file: string | undefined, report: Report): Part[] {
  const value = file === undefined ? undefined : readProjectValue(files, file, report)
  if (file === undefined || value === undefined || value === null) return []
  if (!isObject(value)) {
    const message = `The file must hold names with their keys; it holds ${kindOf(value)}.`
    report.refuse({ file, key: '' }, message)
    return []
  }
  return Object.entries(value).flatMap(([name, entry]) => {
    const place = { file, key: name }
    if (isObject(entry)) return [{ name, ...place, fields: fieldsOf(entry, place) }]
    report.refuse(place, `This must hold keys such as role or description; it is ${kindOf(entry)}.`)
    return []
  })
}

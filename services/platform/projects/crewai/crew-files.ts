import { isObject } from '../../../shared/is-object.ts'
import { fieldsOf, isPython, kindOf, readList, readText } from './fields.ts'
import type { Field, Fields, Part } from './fields.ts'
import { findFiles, folderOf, readProjectValue } from './project-files.ts'
import type { ProjectFiles } from './project-files.ts'
import { PYTHON } from './report.ts'
import type { Report } from './report.ts'

/** A project as its files have it, whatever form they have. */
export interface ProjectParts {
  /** The name of the crew, when a file has it. */
  readonly name?: string | undefined
  readonly agents: readonly Part[]
  readonly tasks: readonly Part[]
  /** The other keys of the crew. */
  readonly crew: Fields
  /** The files that were read. */
  readonly read: readonly string[]
  /** Where the paths of its files begin; with a / at its end. */
  readonly root: string
}

/** The names of crew files, those that CrewAI prefers first. */
export const CREW_FILES = ['crew.jsonc', 'crew.json']

/** Reads a project of `crew.jsonc` and `agents/*.jsonc`; undefined when it cannot be read. */
export function readCrewFiles(
  files: ProjectFiles,
  file: string,
  report: Report,
): ProjectParts | undefined {
  const value = readProjectValue(files, file, report)
  if (value === undefined) return undefined
  if (!isObject(value)) {
    report.refuse({ file, key: '' }, `The file must hold an object; it holds ${kindOf(value)}.`)
    return undefined
  }
  const crew = new Map(fieldsOf(value, { file, key: '' }))
  const root = folderOf(file)
  const reader = { files, root, report }
  const agents = readAgents(reader, crew)
  const tasks = readTasks(crew.get('tasks') ?? { file, key: 'tasks', value: [] }, report)
  const name = readText(crew.get('name'), report)
  for (const key of ['agents', 'tasks', 'name']) crew.delete(key)
  return { name, agents, tasks, crew, root, read: [file, ...agents.map((agent) => agent.file)] }
}

interface AgentReader {
  readonly files: ProjectFiles
  readonly root: string
  readonly report: Report
}

function readAgents(reader: AgentReader, crew: Fields): Part[] {
  const listed = readList(crew.get('agents'), reader.report) ?? []
  const manager = crew.get('manager_agent')
  const named = manager && !isPython(manager.value) ? [...listed, manager] : listed
  const parts = new Map<string, Part>()
  for (const field of named) {
    if (typeof field.value === 'string' && parts.has(field.value)) continue
    const part = readAgent(reader, field)
    if (part) parts.set(part.name, part)
  }
  return [...parts.values()]
}

function readAgent({ files, root, report }: AgentReader, field: Field): Part | undefined {
  const { value: name } = field
  if (typeof name !== 'string' || !/^[^/\\]{1,100}$/.test(name)) {
    report.refuse(field, 'An agent is named by its file: "researcher" for agents/researcher.jsonc.')
    return undefined
  }
  const file = ['jsonc', 'json']
    .flatMap((kind) => [`${root}agents/${name}.${kind}`, `${root}${name}.${kind}`])
    .find((path) => files.has(path))
  if (file === undefined) {
    const near = findFiles(files, /\.jsonc?$/).slice(0, 10)
    report.refuse(
      field,
      `There is no file agents/${name}.jsonc for this agent. The project has ${near.join(', ')}.`,
    )
    return undefined
  }
  const value = readProjectValue(files, file, report)
  if (value === undefined) return undefined
  if (isObject(value)) return { name, file, key: '', fields: withSettings(value, file, report) }
  report.refuse({ file, key: '' }, `The file must hold an object; it holds ${kindOf(value)}.`)
  return undefined
}

/** The keys of `settings` replace those beside it. */
function withSettings(
  value: Readonly<Record<string, unknown>>,
  file: string,
  report: Report,
): Fields {
  const fields = new Map(fieldsOf(value, { file, key: '' }))
  const settings = fields.get('settings')
  fields.delete('settings')
  if (!settings || settings.value === null) return fields
  if (isObject(settings.value)) return new Map([...fields, ...fieldsOf(settings.value, settings)])
  report.refuse(settings, `This must be an object; it is ${kindOf(settings.value)}.`)
  return fields
}

function readTasks(field: Field, report: Report): Part[] {
  return (readList(field, report) ?? []).flatMap((each, index) => {
    const { file, key, value } = each
    if (isPython(value)) report.refuse(each, PYTHON)
    else if (!isObject(value)) report.refuse(each, `A task is an object; this is ${kindOf(value)}.`)
    else {
      const fields = new Map(fieldsOf(value, each))
      const name = readText(fields.get('name'), report) ?? `task_${index + 1}`
      fields.delete('name')
      return [{ name, file, key, fields }]
    }
    return []
  })
}

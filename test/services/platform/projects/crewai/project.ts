import { importCrew } from '../../../../../services/platform/projects/crewai/import-crew.ts'
import type { CrewImport } from '../../../../../services/platform/projects/crewai/import-crew.ts'
import type { ImportProblem } from '../../../../../services/platform/projects/crewai/report.ts'

/** Imports a project of these files. */
export const importFiles = (files: Readonly<Record<string, string | Uint8Array>>): CrewImport =>
  importCrew(
    new Map(
      Object.entries(files).map(([path, content]) => [
        path,
        typeof content === 'string' ? Buffer.from(content) : content,
      ]),
    ),
  )

/** The problems of a level as `file: key: message`. */
export const told = ({ problems }: CrewImport, level: ImportProblem['level']): readonly string[] =>
  problems
    .filter((each) => each.level === level)
    .map(({ file, key, message }) => [file, key, message].filter((part) => part !== '').join(': '))

export const AGENTS_YAML = `
researcher:
  role: >
    {topic} Researcher
  goal: Find out about {topic}
  backstory: Curious.
writer:
  role: Writer
  goal: Write
  backstory: Clear.
`

export const TASKS_YAML = `
research:
  description: Research {topic}.
  expected_output: A list
  agent: researcher
report:
  description: Write a report.
  expected_output: Two pages
  agent: writer
`

/** A crew.jsonc with one agent and tasks, and what else it is given. */
export const crewJson = (extra: object = {}, task: object = {}): string =>
  JSON.stringify({
    name: 'Reports',
    agents: ['writer'],
    tasks: [
      {
        name: 'report',
        description: 'Write.',
        expected_output: 'A page',
        agent: 'writer',
        ...task,
      },
    ],
    ...extra,
  })

/** An agents/writer.jsonc, with what else it is given. */
export const agentJson = (extra: object = {}): string =>
  JSON.stringify({
    role: 'Writer',
    goal: 'Write',
    backstory: 'Clear.',
    llm: 'openai/gpt-4o',
    ...extra,
  })

/** Imports a crew.jsonc with these further keys of its crew, agent and task. */
export const importJson = ({ crew = {}, agent = {}, task = {} }: JsonParts): CrewImport =>
  importFiles({ 'crew.jsonc': crewJson(crew, task), 'agents/writer.jsonc': agentJson(agent) })

interface JsonParts {
  readonly crew?: object
  readonly agent?: object
  readonly task?: object
}

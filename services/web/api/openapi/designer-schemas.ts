import { crewDefinitionSchema } from '../../../platform/definitions/crew-definition-schema.ts'
import { PROJECT_NAME } from '../../../platform/projects/projects.ts'
import { PROBLEM_LEVELS } from '../../../platform/projects/crewai/report.ts'
import {
  closed,
  integer,
  list,
  moment,
  nullable,
  perhapsMoment,
  schema,
  text,
  uuid,
} from './parts.ts'
import { failure, inputs, output, status, usage } from './schemas.ts'

const runSummary = {
  kickoff_id: uuid,
  project_id: integer,
  version: integer,
  automation_id: uuid,
  status,
  queued_at: moment,
  started_at: perhapsMoment,
  finished_at: perhapsMoment,
}
const versionSummary = {
  project_id: integer,
  number: integer,
  status: {
    ...text,
    enum: ['draft', 'published'],
    description: 'A published version never changes.',
  },
  inputs: list(text),
  created_at: moment,
  published_at: perhapsMoment,
}
const page = (name: string, items: string) =>
  closed({
    [name]: list(schema(items)),
    next_cursor: nullable('string', { description: 'Null on the last page.' }),
  })
const definition = schema('CrewDefinition')

/** What a crew of the process `hierarchical` names one of, and others name none of. */
const MANAGERS = [{ required: ['manager_llm'] }, { required: ['manager_agent'] }]

const importProblem = {
  file: text,
  key: text,
  level: { type: 'string', enum: [...PROBLEM_LEVELS] },
  message: text,
}
const problems = list(schema('ImportProblem'))

/** Returns the schemas of the designer API. */
export const designerSchemas = () => ({
  CrewDefinition: {
    ...crewDefinitionSchema(),
    not: {
      anyOf: [
        { properties: { process: { const: 'sequential' } }, anyOf: MANAGERS },
        {
          required: ['process'],
          properties: { process: { const: 'hierarchical' } },
          not: { oneOf: MANAGERS },
        },
      ],
    },
    description:
      'Agents, and the tasks that they do. Texts may have places for inputs, such as {topic}. ' +
      'Tasks name agents, and agents name tools, by their keys; `pinned` is what publishing ' +
      'reads from a tool.',
  },
  ProjectRequest: closed({ name: { ...text, pattern: PROJECT_NAME.source } }),
  Project: closed({
    id: integer,
    name: text,
    latest_version: nullable('integer'),
    published_version: nullable('integer'),
    automation_id: nullable('string', { format: 'uuid' }),
    created_at: moment,
  }),
  ProjectList: page('projects', 'Project'),
  VersionRequest: closed({ definition }),
  VersionSummary: closed(versionSummary),
  Version: closed({ ...versionSummary, definition }),
  VersionList: page('versions', 'VersionSummary'),
  ImportRequest: closed({ files: { type: 'object', additionalProperties: text } }),
  ImportProblem: closed(importProblem),
  ImportPreview: closed({
    definition: { anyOf: [definition, { type: 'null' }] },
    problems,
    refusal: nullable('string'),
  }),
  ImportedVersion: closed({ ...versionSummary, definition, problems }),
  RunSummary: closed(runSummary),
  Run: closed({ ...runSummary, inputs, output, usage, error: failure }),
  RunList: page('executions', 'RunSummary'),
})

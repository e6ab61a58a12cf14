import { crewDefinitionSchema } from '../../../platform/definitions/crew-definition-schema.ts'
import { filesBody } from '../designer/import-routes.ts'
import { MEASURES } from '../../../platform/projects/release-standing.ts'
import { releaseBody } from '../designer/release-routes.ts'
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
  schemaOfBody,
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

const perhapsNumber = nullable('number')

const sideFound = closed({ runs: integer, value: perhapsNumber })
const releaseTest = closed({
  runs: closed({ running: integer, new: integer }),
  measures: list(
    closed({
      measure: { type: 'string', enum: [...MEASURES] },
      running: sideFound,
      new: sideFound,
      worse_by: closed({ low: { type: 'number' }, high: { type: 'number' } }),
      allowed: integer,
    }),
  ),
})
const TESTED =
  'What the last look found, in percentage points, or percent of the cost of a typical run; ' +
  'null: none yet. The share is taken back once `worse_by.low` is above `allowed`.'

const lastRollback = {
  oneOf: [
    { type: 'null' },
    closed({
      version: integer,
      running_version: integer,
      percent: integer,
      at: moment,
      text,
      test: releaseTest,
      worst_runs: list(
        closed({
          kickoff_id: uuid,
          automation_id: uuid,
        }),
      ),
    }),
  ],
  description: 'The last version whose share was taken back without a person.',
}

/** The schemas of what takes the calls of a project. */
const releaseSchemas = () => ({
  ReleaseRequest: schemaOfBody(
    releaseBody,
    'The share of the calls that a version takes. `sticky_input` names the input by whose ' +
      'value calls are chosen, so that equal ones get the same version; null: the ' +
      'Idempotency-Key or, without one, chance. `rollback` says by how much the version may be ' +
      'worse before the share is taken back without a person; null: it never is.',
  ),
  Release: closed({
    running_version: nullable('integer', { description: 'Null: the project has no automation.' }),
    shared: {
      oneOf: [
        { type: 'null' },
        closed({
          version: integer,
          percent: integer,
          sticky_input: nullable('string'),
          started_at: moment,
          rollback: {
            oneOf: [
              { type: 'null' },
              closed({
                failure_points: nullable('integer'),
                cost_percent: nullable('integer'),
                rating_points: nullable('integer'),
                error_percent: integer,
                mail: list(text),
              }),
            ],
          },
          test: { oneOf: [{ type: 'null' }, releaseTest], description: TESTED },
          runs: list(
            closed({
              version: integer,
              runs: integer,
              ended: integer,
              failed: integer,
              median_seconds: perhapsNumber,
              mean_tokens: perhapsNumber,
            }),
          ),
        }),
      ],
      description:
        'The version that takes a share, and what became of the calls since, by version.',
    },
    last_rollback: lastRollback,
  }),
})

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
  ...releaseSchemas(),
  VersionRequest: closed({ definition }),
  VersionSummary: closed(versionSummary),
  Version: closed({ ...versionSummary, definition }),
  VersionList: page('versions', 'VersionSummary'),
  ImportRequest: schemaOfBody(filesBody),
  ImportProblem: closed(importProblem),
  ImportPreview: closed({
    definition: { anyOf: [definition, { type: 'null' }] },
    problems,
    refusal: nullable('string'),
  }),
  ImportedVersion: closed({ ...versionSummary, definition, problems }),
  AddedKnowledge: closed({
    knowledge: list(
      closed({
        name: text,
        characters: integer,
        extent: nullable('string'),
        description: nullable('string'),
        files: list(text),
      }),
    ),
    left_out: { ...list(text), description: 'Files of skills that no agent can read.' },
  }),
  RunSummary: closed(runSummary),
  Run: closed({ ...runSummary, inputs, output, usage, error: failure }),
  RunList: page('executions', 'RunSummary'),
})

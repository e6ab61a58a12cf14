import { crewDefinitionSchema } from '../../../platform/definitions/crew-definition-schema.ts'
import { inputNames } from '../../../platform/definitions/crew-inputs.ts'
import type { RunRecord } from '../../../platform/runs/run-history.ts'
import type { Version } from '../../../platform/projects/project-versions.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import * as s from '../openapi/parts.ts'
import { failure, inputs, output, status, usage } from '../openapi/run-schemas.ts'

/** A project as the designer shows it. */
export const projectDocument = s.document(
  'Project',
  {
    id: s.integer,
    name: s.text,
    latest_version: s.nullable('integer'),
    published_version: s.nullable('integer'),
    automation_id: s.perhapsUuid,
    created_at: s.moment,
  },
  ({ lastVersion, ...project }: Project) => ({ ...project, latestVersion: lastVersion || null }),
)

/** What a crew of the process `hierarchical` names one of, and others name none of. */
const MANAGERS = [{ required: ['manager_llm'] }, { required: ['manager_agent'] }]

/** The definition of a crew. */
export const definitionSchema = s.named('CrewDefinition', () => ({
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
}))

/** What lists show of a version: all but its definition. */
const versionFields = {
  project_id: s.integer,
  number: s.integer,
  status: s.say(s.words(['draft', 'published']), 'A published version never changes.'),
  inputs: s.list(s.text),
  created_at: s.moment,
  published_at: s.perhapsMoment,
}
const toVersion = (version: Version) => ({
  ...version,
  status: version.publishedAt === null ? 'draft' : 'published',
  inputs: inputNames(version.definition),
})

/** A version without its definition, as lists show it. */
export const versionSummary = s.document('VersionSummary', versionFields, toVersion)
/** The fields of a version with its definition. */
export const wholeVersion = { ...versionFields, definition: definitionSchema }
/** A version with its definition. */
export const versionDocument = s.document('Version', wholeVersion, toVersion)

const runFields = {
  kickoff_id: s.uuid,
  project_id: s.integer,
  version: s.integer,
  automation_id: s.uuid,
  status,
  queued_at: s.moment,
  started_at: s.perhapsMoment,
  finished_at: s.perhapsMoment,
}
const toRun = (run: RunRecord) => ({
  ...run,
  kickoffId: run.id,
  usage: run.usage && s.tokensOf(run.usage),
})

/** A run without what went in and came out, as lists show it. */
export const runSummary = s.document('RunSummary', runFields, toRun)
/** A run with its inputs and its output. */
export const runDocument = s.document(
  'Run',
  { ...runFields, inputs, output, usage, error: failure },
  toRun,
)

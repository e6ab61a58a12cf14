import { ORIGIN_ACTIONS, RUN_STATUSES, TRIGGERS } from '../../../platform/runs/runs.ts'
import { STATES } from '../automation/run-status.ts'
import {
  closed,
  cursor,
  integer,
  json,
  list,
  moment,
  nullable,
  parameter,
  perhapsMoment,
  problem,
  schema,
  text,
  uuid,
} from './parts.ts'

/** Describes the list of the runs of an automation; `common` are the errors of any call. */
export const listRuns = (common: Record<string, unknown>) => ({
  operationId: 'runs',
  tags: ['Automations'],
  summary: 'List the runs of the automation, newest first',
  description: 'Of this automation only; a page has `next_cursor` when there are more.',
  parameters: [
    parameter('status', 'query', {
      description: 'Only the runs in this status.',
      schema: { type: 'string', enum: RUN_STATUSES },
    }),
    parameter('limit', 'query', {
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    }),
    cursor,
  ],
  responses: {
    '200': json('The runs.', 'Runs'),
    '400': problem('status, limit or cursor is not valid.'),
    ...common,
  },
})

/** The schemas of the list; `failure` and `usage` are those of a status. */
export const runListSchemas = (of: { readonly failure: unknown; readonly usage: unknown }) => ({
  Runs: closed({
    runs: list(schema('ListedRun')),
    next_cursor: nullable('string', { description: 'Null on the last page.' }),
  }),
  ListedRun: closed({
    kickoff_id: uuid,
    status: { ...text, enum: RUN_STATUSES },
    state: { ...text, enum: [...new Set(Object.values(STATES))] },
    version: { ...integer, description: 'The version of the project that it ran.' },
    trigger: {
      type: ['string', 'null'],
      enum: [...TRIGGERS, null],
      description: 'What started it; null where that is not known.',
    },
    started_by: nullable('string', {
      description: 'The name of the person, the token, the client, the schedule or the trigger.',
    }),
    usage: of.usage,
    error: of.failure,
    queued_at: moment,
    started_at: perhapsMoment,
    finished_at: perhapsMoment,
    origin: nullable('object', {
      description: 'The run that this one follows; null for a plain kickoff.',
      required: ['kickoff_id', 'action'],
      properties: { kickoff_id: uuid, action: { ...text, enum: ORIGIN_ACTIONS } },
    }),
  }),
})

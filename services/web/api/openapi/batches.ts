import { ROW_FORMATS } from '../../../platform/batches/read-rows.ts'
import {
  closed,
  header,
  idempotencyKey,
  integer,
  json,
  location,
  parameter,
  problem,
  refusedTokens,
  retryAfter,
  schema,
  text,
  uuid,
} from './parts.ts'

const number = { type: 'number' }
const perhaps = { oneOf: [{ type: 'null' }, schema('BatchEstimate')] }

/** The schemas of what a batch will take. */
export const BATCH_SCHEMAS = {
  BatchCreated: closed({
    id: uuid,
    rows: integer,
    repeated: { type: 'boolean', description: 'The batch was there before, with this key.' },
  }),
  BatchEstimate: closed({ run_p50: number, run_p95: number, total_p50: number, total_p95: number }),
  BatchForecast: closed({
    rows: integer,
    runs_measured: { ...integer, description: 'Under 20, all is unknown.' },
    tokens: { ...perhaps, description: 'Null: unknown.' },
    cost_usd: { ...perhaps, description: 'Null: unknown, such as without a price of a model.' },
    time_ms: { ...perhaps, description: 'Of all runs one after the other. Null: unknown.' },
  }),
}

const COMMON = {
  ...refusedTokens('No token of the whole organization, and no session.'),
  '403': problem(
    'A role, or a scope of the token, that does not allow this; for anything but reading, a ' +
      'session without its `X-CSRF-Token`.',
  ),
  '404': problem('The organization has no such automation, or it no such batch.'),
  '503': problem('The database is unavailable. Try again.', retryAfter),
}
const flag = (name: string, description: string) =>
  parameter(name, 'query', { description, schema: { type: 'boolean', default: false } })
const rows = { schema: text }
const LIST = '/designer/v2/automations/{automation_id}/batches'

const POST = {
  operationId: 'createBatch',
  tags: ['Batches'],
  summary: 'Start a run for each row of a file',
  description: 'At most 100,000 rows and 32 MiB in UTF-8. When a row is wrong, nothing is started.',
  parameters: [
    flag('dry_run', 'Checks the rows and forecasts what they take; starts nothing.'),
    flag('paused', 'Starts nothing until it is resumed.'),
    parameter('key', 'query', {
      description: 'What identifies a row.',
      schema: { type: 'string', default: 'id' },
    }),
    parameter('name', 'query', { schema: { type: 'string', maxLength: 100 } }),
    { ...idempotencyKey, description: 'The same key is the same batch.' },
  ],
  requestBody: {
    required: true,
    content: { 'text/csv': rows, 'application/jsonl': rows, 'application/x-ndjson': rows },
  },
  responses: {
    '200': json('What it would take.', 'BatchForecast'),
    '202': json('It, or the one that has this key.', 'BatchCreated', location('Where it is.')),
    '400': problem('The query or the Idempotency-Key is not valid.'),
    ...COMMON,
    '409': problem('The organization has too many batches that wait.'),
    '413': problem('The body is larger than 32 MiB.'),
    '415': problem('Neither CSV nor JSONL.'),
    '422': problem('Rows are wrong: details.problems has the first 20 with their lines.'),
  },
}

const RESULTS = {
  parameters: [parameter('automation_id', 'path'), parameter('batch_id', 'path')],
  get: {
    operationId: 'getBatchResults',
    tags: ['Batches'],
    summary: 'What became of each row, as a file',
    parameters: [
      parameter('format', 'query', {
        schema: { type: 'string', enum: ROW_FORMATS, default: 'jsonl' },
      }),
    ],
    responses: {
      '200': {
        description: 'The rows in their order.',
        headers: { 'Content-Disposition': header('The name of the file.') },
        content: { 'application/jsonl': rows, 'text/csv': rows },
      },
      '400': problem('format is not valid.'),
      ...COMMON,
    },
  },
}

/** Adds what no declaration has to the paths of the resources. */
export const withBatches = (paths: Readonly<Record<string, object>>) => ({
  ...paths,
  [LIST]: { ...paths[LIST], post: POST },
  [`${LIST}/{batch_id}/results`]: RESULTS,
})

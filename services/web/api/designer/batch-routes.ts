import type { Context, Hono } from 'hono'
import { getDefinition } from '../../../platform/automations/automations.ts'
import { checkRows, createBatch } from '../../../platform/batches/create-batch.ts'
import { forecastBatch } from '../../../platform/batches/forecast.ts'
import type { Forecast } from '../../../platform/batches/forecast.ts'
import { ROW_FORMATS, ROWS_BYTES_MAX } from '../../../platform/batches/read-rows.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType, readBody } from '../../../shared/http/request-body.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { sendResults } from '../../console/batches/send-results.ts'
import { batchEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import { requireOrganization } from '../../gate/callers/organization.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { createTurns } from '../../http/file-uploads.ts'
import { createApi } from '../api-room.ts'
import { readIdempotencyKey } from '../automation/kickoff-request.ts'
import { readFlag } from '../automation/read-flag.ts'
import * as s from '../openapi/parts.ts'
import { describing } from '../openapi/operation.ts'
import { getAutomation } from './get-automation.ts'
import { ROW_TYPES } from './requests.ts'

const NAME_MAX = 100

const estimateFields = {
  run_p50: s.number,
  run_p95: s.number,
  total_p50: s.number,
  total_p95: s.number,
}
const estimate = s.document('BatchEstimate', estimateFields)
const estimateOf = s.pickOf(estimateFields)
const forecast = s.document(
  'BatchForecast',
  {
    rows: s.integer,
    runs_measured: s.say(s.integer, 'Under 20, all is unknown.'),
    by_version: s.say(s.truth, 'They are of the version alone, not of former ones, too.'),
    by_input_size: s.say(s.truth, 'They are those with inputs of such a size.'),
    tokens: s.orNull(estimate, 'Null: unknown.'),
    cost_usd: s.orNull(estimate, 'Null: unknown, such as without a price of a model.'),
    time_ms: s.orNull(estimate, 'Of all runs one after the other. Null: unknown.'),
  },
  ({ rows, runs, isByVersion, isBySize, tokens, cost, time }: Forecast) => ({
    rows,
    runsMeasured: runs,
    byVersion: isByVersion,
    byInputSize: isBySize,
    tokens: tokens && estimateOf(tokens),
    costUsd: cost && estimateOf(cost),
    timeMs: time && estimateOf(time),
  }),
)
const created = s.document('BatchCreated', {
  id: s.uuid,
  rows: s.integer,
  repeated: s.say(s.truth, 'The batch was there before, with this key.'),
})

const operation = describing({ tag: 'Batches' })
const content = { schema: s.text }
const create = operation('createBatch', 'Start a run for each row of a file', {
  description: 'At most 100,000 rows and 32 MiB in UTF-8. When a row is wrong, nothing is started.',
  parameters: [
    s.flag('dry_run', 'Checks the rows and forecasts what they take; starts nothing.'),
    s.flag('paused', 'Starts nothing until it is resumed.'),
    s.parameter('key', 'query', {
      description: 'What identifies a row.',
      schema: { type: 'string', default: 'id' },
    }),
    s.parameter('name', 'query', { schema: { type: 'string', maxLength: NAME_MAX } }),
    s.say(s.idempotencyKey, 'The same key is the same batch.'),
  ],
  body: { content: Object.fromEntries(Object.keys(ROW_TYPES).map((type) => [type, content])) },
  200: ['What it would take.', forecast],
  202: ['It, or the one that has this key.', created, s.location('Where it is.')],
  400: 'The query or the Idempotency-Key is not valid.',
  409: 'The organization has too many batches that wait.',
  413: 'The body is larger than 32 MiB.',
  415: 'Neither CSV nor JSONL.',
  422: 'Rows are wrong: details.problems has the first 20 with their lines.',
})
const results = operation('getBatchResults', 'What became of each row, as a file', {
  parameters: [
    s.parameter('format', 'query', { schema: { ...s.words(ROW_FORMATS), default: 'jsonl' } }),
  ],
  200: {
    description: 'The rows in their order.',
    headers: { 'Content-Disposition': s.header('The name of the file.') },
    content: { 'application/jsonl': content, 'text/csv': content },
  },
  400: 'format is not valid.',
})

/** Takes the rows of a new batch, and sends results, beside the routes of its resource. */
export function designerBatchRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const api = createApi(deps)
  const audited = createAudited(sql)
  const takeTurn = createTurns()
  const list = '/automations/:automationId/batches'

  api.get('viewer', [`${list}/:batchId/results`, results], async (c) =>
    sendResults(c, sql, await getAutomation(c, sql)),
  )

  const take = async (c: Context<OrganizationCall>): Promise<Response> => {
    const automation = await getAutomation(c, sql)
    const asked = readAsked(c)
    const definition = await getDefinition(sql, automation)
    const bytes = await readBody(c.req.raw, ROWS_BYTES_MAX)
    if (asked.isDry) {
      const { id: deploymentId } = automation
      const checked = await checkRows(sql, { content: bytes, definition, deploymentId, ...asked })
      return c.json(forecast.of(await forecastBatch(sql, automation, checked)))
    }
    const starter = toStarter(c.var.actor, 'designer')
    const sent = { automation, definition, content: bytes, starter, ...asked }
    const made = await audited(
      c.var,
      (tx) => createBatch(tx, sent),
      (batch) => batchEntry(sent, batch),
    )
    const { id, rows, isNew } = made
    const location = `/designer/v2/automations/${automation.automationId}/batches/${id}`
    return c.json(created.of({ id, rows, repeated: !isNew }), 202, { location })
  }

  const routes = api.routes()
  // The list is the resource's, which refuses other methods there.
  routes.post(list, declareRight('editor', create), requireOrganization(deps), async (c) =>
    takeTurn(() => take(c)),
  )
  return routes
}

function readAsked(c: Context<OrganizationCall>) {
  const format = ROW_TYPES[mediaType(c.req.raw)]
  if (!format) {
    const known = Object.keys(ROW_TYPES).join(', ')
    throw new AppError('unsupported_media_type', `The Content-Type of rows is one of ${known}.`)
  }
  return {
    format,
    isDry: readFlag(c.req.query('dry_run'), 'dry_run'),
    isPaused: readFlag(c.req.query('paused'), 'paused'),
    keyName: c.req.query('key') ?? 'id',
    name: c.req.query('name')?.trim().slice(0, NAME_MAX) || 'Batch by API',
    idempotencyKey: readIdempotencyKey(c.req.header('idempotency-key')),
  }
}

import type { Context, Hono } from 'hono'
import { getDefinition } from '../../../platform/automations/automations.ts'
import { checkRows, createBatch } from '../../../platform/batches/create-batch.ts'
import { forecastBatch } from '../../../platform/batches/forecast.ts'
import type { Estimate, Forecast } from '../../../platform/batches/forecast.ts'
import { ROWS_BYTES_MAX } from '../../../platform/batches/read-rows.ts'
import type { RowFormat } from '../../../platform/batches/read-rows.ts'
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
import { getAutomation } from './get-automation.ts'

const FORMATS: Readonly<Record<string, RowFormat>> = {
  'text/csv': 'csv',
  'application/jsonl': 'jsonl',
  'application/x-ndjson': 'jsonl',
}
const NAME_MAX = 100

/** Takes the rows of a new batch, and sends results, beside the routes of its resource. */
export function designerBatchRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const api = createApi(deps)
  const audited = createAudited(sql)
  const takeTurn = createTurns()
  const list = '/automations/:automationId/batches'

  api.get('viewer', `${list}/:batchId/results`, async (c) =>
    sendResults(c, sql, await getAutomation(c, sql)),
  )

  const take = async (c: Context<OrganizationCall>): Promise<Response> => {
    const automation = await getAutomation(c, sql)
    const asked = readAsked(c)
    const definition = await getDefinition(sql, automation)
    const content = await readBody(c.req.raw, ROWS_BYTES_MAX)
    if (asked.isDry) {
      const rows = await checkRows({ content, definition, ...asked })
      return c.json(forecastDocument(await forecastBatch(sql, automation, rows)))
    }
    const starter = toStarter(c.var.actor, 'designer')
    const sent = { automation, definition, content, starter, ...asked }
    const made = await audited(
      c.var,
      (tx) => createBatch(tx, sent),
      (batch) => batchEntry(sent, batch),
    )
    const { id, rows, isNew } = made
    const location = `/designer/v2/automations/${automation.automationId}/batches/${id}`
    return c.json({ id, rows, repeated: !isNew }, 202, { location })
  }

  const routes = api.routes()
  // The list is the resource's, which refuses other methods there.
  routes.post(list, declareRight('editor'), requireOrganization(deps), async (c) =>
    takeTurn(() => take(c)),
  )
  return routes
}

function readAsked(c: Context<OrganizationCall>) {
  const format = FORMATS[mediaType(c.req.raw)]
  if (!format) {
    const known = Object.keys(FORMATS).join(', ')
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

const forecastDocument = ({ rows, runs, tokens, cost, time }: Forecast) => ({
  rows,
  runs_measured: runs,
  tokens: estimateDocument(tokens),
  cost_usd: estimateDocument(cost),
  time_ms: estimateDocument(time),
})

const estimateDocument = (estimate: Estimate | null) =>
  estimate && {
    run_p50: estimate.runP50,
    run_p95: estimate.runP95,
    total_p50: estimate.totalP50,
    total_p95: estimate.totalP95,
  }

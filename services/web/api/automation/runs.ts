import type { Context } from 'hono'
import { listRunRecords } from '../../../platform/runs/run-history.ts'
import type { RunRecord } from '../../../platform/runs/run-history.ts'
import { RUN_STATUSES } from '../../../platform/runs/runs.ts'
import type { RunStatus } from '../../../platform/runs/runs.ts'
import { AppError } from '../../../shared/errors.ts'
import { readUuidPage, toPage } from '../designer/requests.ts'
import type { AuthorizedCall } from '../../context.ts'
import type { ApiRoute } from './api-route.ts'
import { STATES } from './run-status.ts'

/** Lists the runs of the automation, newest first. */
export const runsRoute: ApiRoute = {
  method: 'GET',
  path: '/runs',
  async answer(c, { sql }) {
    const { id: deploymentId, organizationId } = c.var.automation
    const page = readUuidPage(c)
    const { limit, cursor: after } = page
    const range = { organizationId, deploymentId, status: readStatus(c), after, limit: limit + 1 }
    const { items, next_cursor } = toPage(await listRunRecords(sql, range), page, {
      show: toWire,
      cursorOf: ({ id }) => id,
    })
    return c.json({ runs: items, next_cursor })
  },
}

function readStatus(c: Context<AuthorizedCall>): RunStatus | undefined {
  const given = c.req.queries('status') ?? []
  const [text] = given
  if (text === undefined) return undefined
  const status = RUN_STATUSES.find((each) => each === text)
  if (given.length === 1 && status) return status
  throw new AppError('invalid_request', `status is one of ${RUN_STATUSES.join(', ')}, given once.`)
}

const toWire = (run: RunRecord) => ({
  kickoff_id: run.id,
  status: run.status,
  state: STATES[run.status],
  version: run.version,
  trigger: run.trigger,
  started_by: run.starterName,
  usage: run.usage && {
    input_tokens: run.usage.inputTokens,
    output_tokens: run.usage.outputTokens,
  },
  error: run.error,
  queued_at: run.queuedAt,
  started_at: run.startedAt,
  finished_at: run.finishedAt,
  origin: run.originId && { kickoff_id: run.originId, action: run.originAction },
})

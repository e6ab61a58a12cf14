import { Hono } from 'hono'
import type { Context } from 'hono'
import { isUuid } from '../../../platform/automations/automations.ts'
import { listReplayedRuns } from '../../../platform/replays/replay-results.ts'
import type { ReplayedOutcome, ReplayedRun } from '../../../platform/replays/replay-results.ts'
import { isReplayOf } from '../../../platform/replays/replays.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { diffLines } from '../../console/projects/line-diff.ts'
import { requestText } from '../../console/replays/request-text.ts'
import { getReplayedRun } from '../../console/replays/routes.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import { requireOrganization } from '../../gate/callers/organization.ts'
import { refuseMethod } from '../../http/refuse-method.ts'

const PATH = '/replays/:replayId/runs'

/** What became of the runs of a replay, beside the routes of its resource. */
export function designerReplayRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const routes = new Hono<OrganizationCall>()
  const authenticate = requireOrganization(deps)
  routes.get(PATH, declareRight('viewer'), authenticate, async (c) => {
    const runs = await listReplayedRuns(sql, await readReplayId(c, sql))
    return c.json({ runs: runs.map(runDocument) })
  })
  routes.all(PATH, authenticate, refuseMethod('GET, HEAD'))
  routes.get(`${PATH}/:kickoffId`, declareRight('viewer'), authenticate, async (c) => {
    const replayId = await readReplayId(c, sql)
    return c.json(
      outcomeDocument(await getReplayedRun(sql, replayId, c.req.param('kickoffId') ?? '')),
    )
  })
  routes.all(`${PATH}/:kickoffId`, authenticate, refuseMethod('GET, HEAD'))
  return routes
}

async function readReplayId(c: Context<OrganizationCall>, sql: Database): Promise<string> {
  const { organizationId } = c.var.caller
  const id = c.req.param('replayId') ?? ''
  if (isUuid(id) && (await isReplayOf(sql, { id, organizationId }))) return id
  throw new AppError('not_found', 'Your organization has no such replay.')
}

const runDocument = ({ usage, recordedUsage, ...run }: ReplayedRun) => ({
  kickoff_id: run.runId,
  state: run.state,
  recorded_version: run.version,
  reason: run.reason,
  step: run.step && { kind: run.step.kind, name: run.step.name, path: run.step.path },
  duration_ms: run.ms,
  recorded_duration_ms: run.recordedMs,
  usage: usage && { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens },
  recorded_usage: recordedUsage && {
    input_tokens: recordedUsage.inputTokens,
    output_tokens: recordedUsage.outputTokens,
  },
})

const SIGNS = { same: '  ', removed: '- ', added: '+ ' } as const

function outcomeDocument(outcome: ReplayedOutcome) {
  const { step, request, recordedRequest, output, recorded } = outcome
  const lines = step ? diffLines(requestText(recordedRequest), requestText(request)) : []
  return {
    ...runDocument(outcome),
    request: request ?? null,
    recorded_request: recordedRequest ?? null,
    request_diff: step ? lines.map(({ kind, text }) => SIGNS[kind] + text).join('\n') : null,
    output,
    recorded_output: recorded.output,
    recorded_error: recorded.error,
  }
}

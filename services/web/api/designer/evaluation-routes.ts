import type { Context, Hono } from 'hono'
import {
  isEvaluationOf,
  listChanged,
  listResults,
  RESULT_STATES,
} from '../../../platform/evaluations/evaluation-results.ts'
import type { CaseOutcome, ResultState } from '../../../platform/evaluations/evaluation-results.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { sendResults } from '../../intake/cases/case-files.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { readNumberPage, toPage } from './requests.ts'

const PATH = '/evaluations/:evaluationId'
const CHANGES_MAX = 1000

/** What versions made of the cases of an evaluation, beside the routes of its resource. */
export function designerEvaluationRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const api = createApi(deps)

  api.get('viewer', `${PATH}/runs`, async (c) => {
    const id = await readEvaluationId(c, sql)
    const page = readNumberPage(c)
    const { limit, cursor: after = -1 } = page
    const results = await listResults(sql, id, { after, limit: limit + 1, state: readState(c) })
    const { items, next_cursor } = toPage(results, page, {
      show: resultDocument,
      cursorOf: ({ position }) => position,
    })
    return c.json({ runs: items, next_cursor })
  })

  api.get('viewer', `${PATH}/runs.csv`, async (c) =>
    sendResults(c, sql, await readEvaluationId(c, sql)),
  )

  api.get('viewer', `${PATH}/changes`, async (c) => {
    const changed = await listChanged(sql, await readEvaluationId(c, sql), CHANGES_MAX)
    return c.json({
      changes: changed.map(({ caseId, name, inputs, isBetter, reason }) => ({
        case_id: caseId,
        name,
        inputs,
        change: isBetter ? 'better' : 'worse',
        reason,
      })),
    })
  })

  return api.routes()
}

async function readEvaluationId(c: Context<OrganizationCall>, sql: Database): Promise<string> {
  const { organizationId } = c.var.caller
  const id = c.req.param('evaluationId') ?? ''
  if (await isEvaluationOf(sql, { id, organizationId })) return id
  throw new AppError('not_found', 'Your organization has no such evaluation.')
}

function readState(c: Context): ResultState | null {
  const given = c.req.query('state')
  if (given === undefined) return null
  const found = RESULT_STATES.find((each) => each === given)
  if (found) return found
  throw new AppError('invalid_request', `state is one of ${RESULT_STATES.join(', ')}.`)
}

const resultDocument = (result: CaseOutcome) => ({
  case_id: result.caseId,
  name: result.name,
  inputs: result.inputs,
  expected: result.expected,
  version: result.version,
  repetition: result.repetition,
  state: result.state,
  reason: result.reason,
  output: result.output,
  findings: result.findings,
  tools: result.tools,
  tokens: result.tokens,
  usd: result.usd,
  duration_ms: result.ms,
})

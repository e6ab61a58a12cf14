import * as v from 'valibot'
import { listScoredTraceDays, listTraceScores } from '../../../platform/evaluations/trace-scores.ts'
import type { TraceScore } from '../../../platform/evaluations/trace-scores.ts'
import type { WebDeps } from '../../context.ts'
import { parseBody } from '../../http/parse-body.ts'
import type { ApiRoom } from '../api-room.ts'
import { operation } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import { finding } from './evaluation-routes.ts'
import { scoredDay } from './score-routes.ts'

const DAYS = 90
const LISTED_MAX = 100
const STATES = ['passed', 'failed', 'error'] as const

const scoreDocument = s.document(
  'TraceScore',
  {
    trace_id: s.text,
    state: s.words(STATES),
    reason: s.perhapsText,
    findings: s.list(finding),
    tokens: s.say(s.integer, 'What asking judges took.'),
    usd: s.say(s.nullable('number'), 'Null: a model has no price.'),
    scored_at: s.moment,
  },
  (row: TraceScore) => row,
)
const scores = s.document('TraceScores', { days: s.list(scoredDay), traces: s.list(scoreDocument) })
const stateQuery = v.object({ state: v.optional(v.picklist(STATES)) })

const list = operation(
  'listTraceScores',
  'How the scored traces of other programs did, by day, and the newest of them',
  {
    parameters: [s.parameter('state', 'query', { schema: s.words(STATES) })],
    422: 'There is no such state.',
    200: [`The last ${DAYS} days, and ${LISTED_MAX} traces at the most.`, scores],
  },
)

/** What checks found of traces that other programs sent. */
export function designerTraceScoreRoutes(api: ApiRoom, { sql }: WebDeps): void {
  api.get('viewer', ['/trace-scores', list], async (c) => {
    const { organizationId } = c.var.caller
    const { state = null } = parseBody(stateQuery, c.req.query())
    const days = await listScoredTraceDays(sql, organizationId, DAYS)
    const found = await listTraceScores(sql, organizationId, { state, limit: LISTED_MAX })
    return c.json({ days: days.map(scoredDay.of), traces: found.map(scoreDocument.of) })
  })
}

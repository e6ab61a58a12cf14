import { findRunScore, listScoredDays } from '../../../platform/evaluations/run-scores.ts'
import type { RunScore, ScoredDay } from '../../../platform/evaluations/run-scores.ts'
import { findRun } from '../../../platform/runs/runs.ts'
import { AppError } from '../../../shared/errors.ts'
import type { WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import { operation } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import { finding } from './evaluation-routes.ts'
import { getAutomation } from './get-automation.ts'

const PATH = '/automations/:automationId/scores'
const DAYS = 90

/** How scored runs or traces did on a day. */
export const scoredDay = s.document(
  'ScoredDay',
  {
    day: s.say({ type: 'string', format: 'date' }, 'In UTC.'),
    passed: s.integer,
    failed: s.integer,
    errors: s.say(s.integer, 'Those that no check could judge.'),
    usd: s.say(s.number, 'What asking judges cost, as far as it is known.'),
  },
  (row: ScoredDay) => row,
)
const days = s.document('ScoredDays', { days: s.list(scoredDay) })
const scoreDocument = s.document(
  'RunScore',
  {
    state: s.words(['waiting', 'passed', 'failed', 'error']),
    reason: s.perhapsText,
    findings: s.list(finding),
    tokens: s.say(s.nullable('number'), 'What asking judges took.'),
    usd: s.say(s.nullable('number'), 'Null: a model has no price.'),
    scored_at: s.perhapsMoment,
  },
  (row: RunScore) => row,
)

const list = operation('listScoredDays', 'How the scored runs of an automation did, by day', {
  200: [`The last ${DAYS} days; those without a score are left out.`, days],
})
const get = operation('getRunScore', 'What the checks of its automation found of a run', {
  200: scoreDocument,
})

/** What checks found of the runs of an automation. */
export function designerScoreRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps

  api.get('viewer', [PATH, list], async (c) => {
    const { id } = await getAutomation(c, sql)
    return c.json({ days: (await listScoredDays(sql, id, DAYS)).map(scoredDay.of) })
  })

  api.get('viewer', [`${PATH}/:kickoffId`, get], async (c) => {
    const { id } = await getAutomation(c, sql)
    const run = await findRun(sql, id, c.req.param('kickoffId') ?? '')
    const score = run && (await findRunScore(sql, run.id))
    if (score) return c.json(scoreDocument.of(score))
    throw new AppError('not_found', 'This automation has no such run, or does not score it.')
  })
}

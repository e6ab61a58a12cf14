import type { Context } from 'hono'
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
import type { ApiRoom } from '../api-room.ts'
import * as s from '../openapi/parts.ts'
import { operation } from '../openapi/operation.ts'
import { paged, pagesOf, readNumberPage } from './requests.ts'

const PATH = '/evaluations/:evaluationId'
const CHANGES_MAX = 1000

const ofCase = { case_id: s.uuid, name: s.perhapsText, inputs: { type: 'object' } }
/** What a check found. */
export const finding = s.closed(
  {
    type: s.text,
    state: s.words(['passed', 'failed', 'error', 'skipped']),
    reason: s.text,
    prompt: s.say(s.integer, 'The version of the prompt of a judge.'),
    tokens: s.number,
    usd: s.nullable('number'),
  },
  { required: ['type', 'state'] },
)
const result = s.document(
  'CaseResult',
  {
    ...ofCase,
    expected: s.perhapsText,
    version: s.integer,
    repetition: s.integer,
    state: s.words(RESULT_STATES),
    reason: s.perhapsText,
    output: s.say(s.perhapsText, 'Its first 32,768 characters.'),
    findings: s.list(finding),
    tools: s.list(s.text),
    tokens: s.nullable('number'),
    usd: s.nullable('number'),
    duration_ms: s.nullable('integer'),
  },
  ({ ms, ...row }: CaseOutcome) => ({ ...row, durationMs: ms }),
)
const results = pagesOf(['CaseResults', 'runs'], result, ({ position }) => position)
const changedCase = { ...ofCase, change: s.words(['better', 'worse']), reason: s.perhapsText }
const changes = s.document('ChangedCases', { changes: s.list(s.closed(changedCase)) })

const list = operation('listCaseResults', 'What versions made of each case', {
  ...paged,
  parameters: [
    ...paged.parameters,
    s.parameter('state', 'query', { schema: s.words(RESULT_STATES) }),
  ],
  200: results,
})
const exportAll = operation('exportCaseResults', 'What versions made of each case, as CSV', {
  200: { description: 'A file.', content: { 'text/csv': { schema: s.text } } },
})
const compare = operation('listChangedCases', 'The cases that one of two versions passes', {
  200: ['The first 1,000.', changes],
})

/** What versions made of the cases of an evaluation, beside the routes of its resource. */
export function designerEvaluationRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps

  api.get('viewer', [`${PATH}/runs`, list], async (c) => {
    const id = await readEvaluationId(c, sql)
    const page = await results.read(readNumberPage(c), ({ limit, cursor: after = -1 }) =>
      listResults(sql, id, { after, limit, state: readState(c) }),
    )
    return c.json(page)
  })

  api.get('viewer', [`${PATH}/runs.csv`, exportAll], async (c) =>
    sendResults(c, sql, await readEvaluationId(c, sql)),
  )

  api.get('viewer', [`${PATH}/changes`, compare], async (c) => {
    const changed = await listChanged(sql, await readEvaluationId(c, sql), CHANGES_MAX)
    const shown = changed.map(({ isBetter, ...row }) =>
      s.pickOf(changedCase)({ ...row, change: isBetter ? 'better' : 'worse' }),
    )
    return c.json({ changes: shown })
  })
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

import type { Context } from 'hono'
import { listRunRecords } from '../../../platform/runs/run-history.ts'
import type { RunRecord } from '../../../platform/runs/run-history.ts'
import { RUN_STATUSES, TRIGGERS } from '../../../platform/runs/runs.ts'
import type { RunStatus } from '../../../platform/runs/runs.ts'
import { AppError } from '../../../shared/errors.ts'
import { findRuns, queryParameter } from '../designer/find-runs.ts'
import { paged, pagesOf, readUuidPage } from '../designer/requests.ts'
import type { AuthorizedCall } from '../../context.ts'
import type { ApiRoute } from './api-route.ts'
import * as s from '../openapi/parts.ts'
import { failure, origin, usage } from '../openapi/run-schemas.ts'
import { reading } from './api-route.ts'
import { state, toShownRun } from './run-status.ts'

const listedRun = s.document(
  'ListedRun',
  {
    kickoff_id: s.uuid,
    status: s.words(RUN_STATUSES),
    state,
    version: s.say(s.integer, 'The version of the project that it ran.'),
    trigger: {
      type: ['string', 'null'],
      enum: [...TRIGGERS, null],
      description: 'What started it; null where that is not known.',
    },
    started_by: s.say(s.perhapsText, 'The name of the person, token, client, schedule or trigger.'),
    usage,
    error: failure,
    queued_at: s.moment,
    started_at: s.perhapsMoment,
    finished_at: s.perhapsMoment,
    origin,
  },
  (run: RunRecord) => ({ ...toShownRun(run), startedBy: run.starterName }),
)
const runs = pagesOf(['Runs', 'runs'], listedRun, ({ id }) => id)

/** Lists the runs of the automation, newest first. */
export const runsRoute: ApiRoute = {
  method: 'GET',
  path: '/runs',
  operation: reading('runs', 'List the runs of the automation, newest first', {
    description: 'Of this automation only; a page has `next_cursor` when there are more.',
    parameters: [
      s.parameter('status', 'query', {
        description: 'Only the runs in this status.',
        schema: s.words(RUN_STATUSES),
      }),
      queryParameter,
      ...paged.parameters,
    ],
    200: ['The runs.', runs],
    400: 'status, query, limit or cursor is not valid.',
  }),
  async answer(c, { sql }) {
    const { id: deploymentId, organizationId } = c.var.automation
    const found = await findRuns(c, sql, { organizationId, deploymentId, status: readStatus(c) })
    if (found) return c.json(runs.of(found.rows, found.next))
    const page = await runs.read(readUuidPage(c), ({ limit, cursor: after }) => {
      const range = { organizationId, deploymentId, status: readStatus(c), after, limit }
      return listRunRecords(sql, range)
    })
    return c.json(page)
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

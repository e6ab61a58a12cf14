import type { Context } from 'hono'
import { findBudgetStop } from '../../../platform/budgets/budget-stops.ts'
import { findApproval } from '../../../platform/runs/run-approvals.ts'
import { listRunTasks } from '../../../platform/runs/run-tasks.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { AuthorizedCall } from '../../context.ts'
import { noKickoff, reading, RETRY_AFTER_SECONDS } from './api-route.ts'
import type { ApiRoute, ApiRouteDeps } from './api-route.ts'
import { callerOf } from './events.ts'
import { followRun } from './follow-run.ts'
import { getRun } from './get-run.ts'
import { readWhole } from './read-whole.ts'
import * as s from '../openapi/parts.ts'
import { isOver, statusDocument } from './run-status.ts'
import type { Waits } from './run-status.ts'

const WAIT_SECONDS_MAX = 60

/**
 * Returns the status of a run: at once, or when it has ended or waits for a person or a budget
 * within the time of `wait`.
 */
export const statusRoute: ApiRoute = {
  method: 'GET',
  path: '/status/:kickoffId',
  operation: reading('status', 'Ask how a run is doing', {
    description:
      'Ask with `wait`, or poll it as `Retry-After` says, until `status` is `completed`, `error` ' +
      'or `stopped`.',
    parameters: [
      s.parameter('wait', 'query', {
        description:
          'The seconds that the answer waits for the end of the run. It may come earlier while ' +
          'many calls wait.',
        schema: { type: 'integer', minimum: 0, maximum: WAIT_SECONDS_MAX, default: 0 },
      }),
    ],
    200: ['The run.', statusDocument],
    ...noKickoff,
    400: '`wait` is no whole number between 0 and 60.',
  }),
  async answer(c, deps) {
    const wait = { name: 'wait', max: WAIT_SECONDS_MAX, absent: 0 }
    const waitMs = readWhole(c.req.query('wait'), wait) * 1000
    const first = await getRun(c, deps.sql)
    const run =
      waitMs > 0 && !isOver(first) && first.status !== 'waiting'
        ? await awaitEnd(c, deps, { first, waitMs })
        : first
    const tasks = await listRunTasks(deps.sql, run)
    const waits = await waitsOf(deps, run)
    const answer = c.json(statusDocument.of({ run, tasks, waits }))
    // On the answer itself: a header of the context makes a second set of headers.
    if (!isOver(run)) answer.headers.set('retry-after', RETRY_AFTER_SECONDS)
    return answer
  },
}

/** Returns what a run waits for, if it does. */
export async function waitsOf(
  { sql }: Pick<ApiRouteDeps, 'sql'>,
  { id, status }: Pick<Run, 'id' | 'status'>,
): Promise<Waits> {
  if (status !== 'waiting') return {}
  const [approval, stopped] = await Promise.all([findApproval(sql, id), findBudgetStop(sql, id)])
  return { approval, stopped }
}

/** Too many calls wait already: then the run is told as it is. */
async function awaitEnd(
  c: Context<AuthorizedCall>,
  deps: ApiRouteDeps,
  { first, waitMs }: { readonly first: Run; readonly waitMs: number },
): Promise<Run> {
  const { automation } = c.var
  const { signal } = c.req.raw
  const run = { automation, runId: first.id, caller: callerOf(c), signal }
  let last = first
  for await (const seen of followRun(deps, { ...run, change: 'status', waitMs })) last = seen
  return last
}

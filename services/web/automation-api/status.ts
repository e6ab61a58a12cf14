import type { Context } from 'hono'
import { listRunTasks } from '../../platform/run-tasks.ts'
import type { Run } from '../../platform/runs.ts'
import type { AuthorizedCall } from '../context.ts'
import { RETRY_AFTER_SECONDS } from './api-route.ts'
import type { ApiRoute, ApiRouteDeps } from './api-route.ts'
import { callerOf } from './events.ts'
import { getRun } from './get-run.ts'
import { readWhole } from './read-whole.ts'
import { isOver, statusDocument } from './run-status.ts'

const WAIT_SECONDS_MAX = 60

/** Returns the status of a run: at once, or when it has ended within the time of `wait`. */
export const statusRoute: ApiRoute = {
  method: 'GET',
  path: '/status/:kickoffId',
  async answer(c, deps) {
    const wait = { name: 'wait', max: WAIT_SECONDS_MAX, absent: 0 }
    const waitMs = readWhole(c.req.query('wait'), wait) * 1000
    const first = await getRun(c, deps.sql)
    const run = waitMs > 0 && !isOver(first) ? await awaitEnd(c, deps, waitMs) : first
    const answer = c.json(statusDocument(run, await listRunTasks(deps.sql, run)))
    // On the answer itself: a header of the context makes a second set of headers.
    if (!isOver(run)) answer.headers.set('retry-after', RETRY_AFTER_SECONDS)
    return answer
  },
}

/** Too many calls wait already: then the run is told as it is. */
async function awaitEnd(
  c: Context<AuthorizedCall>,
  { sql, watch }: ApiRouteDeps,
  waitMs: number,
): Promise<Run> {
  const endAt = performance.now() + waitMs
  const runId = c.req.param('kickoffId')?.toLowerCase() ?? ''
  const follower = watch.follow({ runId, caller: callerOf(c), change: 'status' })
  if (typeof follower === 'string') return getRun(c, sql)
  const { signal } = c.req.raw
  try {
    for (;;) {
      const run = await getRun(c, sql)
      const leftMs = endAt - performance.now()
      if (isOver(run) || leftMs <= 0 || signal.aborted || follower.isStopping()) return run
      await follower.changed(leftMs, signal)
    }
  } finally {
    follower.leave()
  }
}

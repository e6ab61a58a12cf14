import { findRun, stopRun } from '../../platform/runs.ts'
import { AppError } from '../../shared/errors.ts'
import type { ApiRoute } from './api-route.ts'
import { getRun } from './get-run.ts'
import { STATES } from './run-status.ts'

/** Stops a run; stopping it again is no error. */
export const stopRoute: ApiRoute = {
  method: 'POST',
  path: '/stop/:kickoffId',
  async answer(c, { sql }) {
    const { id } = await getRun(c, sql)
    if (!(await stopRun(sql, id))) {
      const over = await findRun(sql, c.var.automation.id, id)
      if (over?.status !== 'stopped') throw alreadyOver(over?.status)
    }
    c.var.wide['audit'] = 'execution_stopped'
    return c.json({ kickoff_id: id, status: 'stopped', state: STATES.stopped })
  },
}

const alreadyOver = (status: string | undefined): AppError =>
  new AppError('conflict', 'The run has already ended; there is nothing to stop.', {
    details: { status },
  })

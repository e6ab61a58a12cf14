import { findRun, stopRun } from '../../../platform/runs/runs.ts'
import { AppError } from '../../../shared/errors.ts'
import { runEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { ApiRoute } from './api-route.ts'
import * as s from '../openapi/parts.ts'
import { noKickoff, starting } from './api-route.ts'
import { getRun } from './get-run.ts'
import { STATES } from './run-status.ts'

const stoppedRun = s.document('Stopped', {
  kickoff_id: s.uuid,
  status: { ...s.text, const: 'stopped' },
  state: { ...s.text, const: STATES.stopped },
})

/** Stops a run; stopping it again is no error. */
export const stopRoute: ApiRoute = {
  method: 'POST',
  path: '/stop/:kickoffId',
  operation: starting('stop', 'Stop a run that is not over; stopping it again is no error', {
    description: 'A run that has ended stays as it is.',
    200: ['The run is stopped.', stoppedRun],
    ...noKickoff,
    409: 'The run has ended.',
  }),
  async answer(c, { sql }) {
    const { id } = await getRun(c, sql)
    const stopped = await createAudited(sql)(
      c.var,
      (tx) => stopRun(tx, id),
      (isStopped) => (isStopped ? runEntry('run_stopped', id) : undefined),
    )
    if (!stopped) {
      const over = await findRun(sql, c.var.automation.id, id)
      if (over?.status !== 'stopped') throw alreadyOver(over?.status)
    }
    return c.json({ kickoff_id: id, status: 'stopped', state: STATES.stopped })
  },
}

const alreadyOver = (status: string | undefined): AppError =>
  new AppError('conflict', 'The run has already ended; there is nothing to stop.', {
    details: { status },
  })

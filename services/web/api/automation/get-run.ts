import type { Context } from 'hono'
import { findRun } from '../../../platform/runs/runs.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { AuthorizedCall } from '../../context.ts'

/** Returns the run that the path names. Raises `not_found` unless it is one of the automation's. */
export async function getRun(c: Context<AuthorizedCall>, sql: Database): Promise<Run> {
  const run = await findRun(sql, c.var.automation.id, c.req.param('kickoffId') ?? '')
  if (run) {
    c.var.wide['kickoff_id'] = run.id
    return run
  }
  throw new AppError('not_found', 'This automation has no such kickoff.')
}

import type { Context } from 'hono'
import { findAutomation } from '../../../platform/automations.ts'
import type { Automation } from '../../../platform/automations.ts'
import { findRun } from '../../../platform/runs.ts'
import type { Run } from '../../../platform/runs.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn } from '../../context.ts'

/**
 * Returns the automation of the path. Raises `not_found` for one of another organization just as
 * for none.
 */
export async function getOwnAutomation(c: Context<SignedIn>, sql: Database): Promise<Automation> {
  const found = await findAutomation(sql, c.req.param('automationId') ?? '')
  if (found?.organizationId === c.var.session.user.organizationId) {
    c.var.wide['automation_id'] = found.automationId
    return found
  }
  throw new AppError('not_found', 'Your organization has no such automation.')
}

/** Returns the run of the path with its automation. Raises `not_found`. */
export async function getOwnRun(
  c: Context<SignedIn>,
  sql: Database,
): Promise<{ automation: Automation; run: Run }> {
  const automation = await getOwnAutomation(c, sql)
  const run = await findRun(sql, automation.id, c.req.param('kickoffId') ?? '')
  if (run) return { automation, run }
  throw new AppError('not_found', 'This automation has no such run.')
}

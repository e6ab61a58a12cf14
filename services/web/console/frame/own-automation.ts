import type { Context } from 'hono'
import { findAnyAutomation, findAutomation } from '../../../platform/automations/automations.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import { findRun } from '../../../platform/runs/runs.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn } from '../../context.ts'

/**
 * Returns the automation of the path. Raises `not_found` for one of another organization just as
 * for none.
 */
export const getOwnAutomation = (c: Context<SignedIn>, sql: Database): Promise<Automation> =>
  getOwn(c, sql, findAutomation)

async function getOwn(
  c: Context<SignedIn>,
  sql: Database,
  find: typeof findAutomation,
): Promise<Automation> {
  const found = await find(sql, c.req.param('automationId') ?? '')
  if (found?.organizationId === c.var.session.user.organizationId) {
    c.var.wide['automation_id'] = found.automationId
    return found
  }
  throw new AppError('not_found', 'Your organization has no such automation.')
}

/** Returns the run of the path, also a test of a draft, with its automation. Raises `not_found`. */
export async function getOwnRun(
  c: Context<SignedIn>,
  sql: Database,
): Promise<{ automation: Automation; run: Run }> {
  const automation = await getOwn(c, sql, findAnyAutomation)
  const run = await findRun(sql, automation.id, c.req.param('kickoffId') ?? '')
  if (run) return { automation, run }
  throw new AppError('not_found', 'This automation has no such run.')
}

/** Returns the run of the path to do it again. Raises `not_found`, and `conflict` for a test. */
export async function getOwnRunToRepeat(
  c: Context<SignedIn>,
  sql: Database,
): Promise<{ automation: Automation; run: Run }> {
  const own = await getOwnRun(c, sql)
  if (own.automation.testsProjectId === null) return own
  throw new AppError('conflict', 'This run tests a draft. Test the draft again on its page.')
}

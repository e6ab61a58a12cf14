import type { Context } from 'hono'
import { findAutomation } from '../platform/deployments.ts'
import type { Deployment } from '../platform/deployments.ts'
import { findExecution } from '../platform/executions.ts'
import type { Execution } from '../platform/executions.ts'
import type { Database } from '../shared/database.ts'
import { AppError } from '../shared/errors.ts'
import type { SignedIn } from './context.ts'

/** The automation of the path. Raises `not_found` for one of another organization just as for none. */
export async function getOwnAutomation(c: Context<SignedIn>, sql: Database): Promise<Deployment> {
  const found = await findAutomation(sql, c.req.param('automationId') ?? '')
  if (found?.organizationId === c.var.session.user.organizationId) return found
  throw new AppError('not_found', 'Your organization has no such automation.')
}

/** The run of the path, with its automation. Raises `not_found`. */
export async function getOwnExecution(
  c: Context<SignedIn>,
  sql: Database,
): Promise<{ automation: Deployment; execution: Execution }> {
  const automation = await getOwnAutomation(c, sql)
  const execution = await findExecution(sql, automation.id, c.req.param('kickoffId') ?? '')
  if (execution) return { automation, execution }
  throw new AppError('not_found', 'This automation has no such execution.')
}

import type { Context } from 'hono'
import { findAutomation } from '../../../platform/automations/automations.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { OrganizationCall } from '../../context.ts'

/** Returns the automation of the path. Raises `not_found` for one of another organization. */
export async function getAutomation(
  c: Context<OrganizationCall>,
  sql: Database,
): Promise<Automation> {
  const found = await findAutomation(sql, c.req.param('automationId') ?? '')
  if (found?.organizationId === c.var.caller.organizationId) return found
  throw new AppError('not_found', 'Your organization has no such automation.')
}

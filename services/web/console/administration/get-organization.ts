import type { Context } from 'hono'
import { findOrganization } from '../../../platform/people/organizations.ts'
import type { Organization } from '../../../platform/people/organizations.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { isIdCursor } from '../frame/lists/page-request.ts'

/** Returns the organization of the path. Raises `not_found`. */
export async function getOrganization(c: Context, sql: Database): Promise<Organization> {
  const text = c.req.param('organizationId') ?? ''
  const organization = isIdCursor(text) ? await findOrganization(sql, Number(text)) : undefined
  if (organization) return organization
  throw new AppError('not_found', 'There is no such organization.')
}

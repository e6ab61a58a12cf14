import { listOrganizationNames } from '../platform/organizations.ts'
import type { Database } from '../shared/database.ts'
import { AppError } from '../shared/errors.ts'

/** How many names an error lists. */
const NAMES_LISTED = 20

/** The refusal of a name that no organization has, with the names that there are. */
export async function noSuchOrganization(sql: Database, given: string): Promise<AppError> {
  const names = await listOrganizationNames(sql, NAMES_LISTED + 1)
  const listed = names
    .slice(0, NAMES_LISTED)
    .map((name) => `"${name}"`)
    .join(', ')
  const rest = names.length > NAMES_LISTED ? ', and more' : ''
  const existing = names.length === 0 ? 'There is none yet' : `There are: ${listed}${rest}`
  return new AppError(
    'not_found',
    `There is no organization "${given}". ${existing}. A new one is made with its first administrator: users:create EMAIL ORGANIZATION`,
  )
}

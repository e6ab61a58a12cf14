import { ORGANIZATION_ROLES } from '../../../platform/people/memberships.ts'
import type { OrganizationRole } from '../../../platform/people/memberships.ts'
import { sentence } from './format.ts'

/** What each role may do, as pages say it. */
export const ROLE_TEXTS: Readonly<Record<OrganizationRole, string>> = {
  viewer: 'reads everything',
  editor: 'designs crews and runs them',
  admin: 'manages people, tokens and settings',
}

/** The roles to choose from, with what each may do. */
export const ROLE_CHOICES: Readonly<Record<string, string>> = Object.fromEntries(
  ORGANIZATION_ROLES.map((role) => [role, `${sentence(role)}: ${ROLE_TEXTS[role]}`]),
)

import { html } from 'hono/html'
import { ORGANIZATION_ROLES } from '../../../platform/people/memberships.ts'
import type { OrganizationRole } from '../../../platform/people/memberships.ts'
import { sentence } from './format.ts'
import type { Html } from './parts.ts'

/** What each role may do, as pages say it. */
export const ROLE_TEXTS: Readonly<Record<OrganizationRole, string>> = {
  viewer: 'reads everything',
  editor: 'designs crews and runs them',
  admin: 'manages people, tokens and settings',
}

/** The roles to choose from, with what each may do. */
export const roleOptions = (chosen: OrganizationRole | undefined): Html =>
  html`${ORGANIZATION_ROLES.map(
    (role) =>
      html`<option value="${role}" ${role === chosen ? 'selected' : ''}>
        ${sentence(role)}: ${ROLE_TEXTS[role]}
      </option>`,
  )}`

/** The roles to choose from, by name. */
export const shortRoleOptions = (chosen: OrganizationRole): Html =>
  html`${ORGANIZATION_ROLES.map(
    (role) =>
      html`<option value="${role}" ${role === chosen ? 'selected' : ''}>${sentence(role)}</option>`,
  )}`

import type { OrganizationRole } from '../../platform/memberships.ts'

/**
 * Who may call a route: anybody; whoever has a token of an organization; a person with a session,
 * whatever the organization; a member of the organization with at least that role; or an
 * administrator of the whole platform, to whom alone such a route exists.
 */
export type Right = 'anybody' | 'token' | 'person' | OrganizationRole | 'platform-admin'

import { includesRole, ORGANIZATION_ROLES } from '../../../platform/people/memberships.ts'
import type { OrganizationRole } from '../../../platform/people/memberships.ts'
import type { Session } from '../../../platform/people/sessions.ts'

/**
 * Who may call a route: anybody; whoever has a token of an organization; a person with a session,
 * whatever the organization; a member of the organization with at least that role; or an
 * administrator of the whole platform, to whom alone such a route exists.
 */
export type Right = (typeof WITHOUT_ROLE)[number] | OrganizationRole

const WITHOUT_ROLE = ['anybody', 'token', 'person', 'platform-admin'] as const

/** Who may call a route: its method and path as it is mounted. */
export type RightOfRoute = readonly [route: string, right: Right]

/** Returns true for a right that takes a role in the organization. */
export const isRole = (right: unknown): right is OrganizationRole =>
  ORGANIZATION_ROLES.some((role) => role === right)

/** Returns true for what is a right. */
export const isRight = (right: unknown): right is Right =>
  isRole(right) || WITHOUT_ROLE.some((each) => each === right)

/** Returns true when the role of a session is enough for a right. */
export const hasRight = ({ role }: Pick<Session, 'role'>, right: Right): boolean =>
  !isRole(right) || (role !== null && includesRole(role, right))

/** Who may call the routes of an app. */
export interface Rights {
  /** The rights by method and path. A route that is missing here is answered to no role. */
  readonly table: () => ReadonlyMap<string, Right>
  /** Finds who may call a route; undefined for one that is missing. */
  readonly find: (route: string) => Right | undefined
  /** Returns true unless a role does not allow what a link or a form leads to. */
  readonly mayCall: (session: Pick<Session, 'role'>, method: string, path: string) => boolean
}

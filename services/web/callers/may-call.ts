import { includesRole } from '../../platform/memberships.ts'
import type { OrganizationRole } from '../../platform/memberships.ts'
import type { Session } from '../../platform/sessions.ts'
import { RIGHTS } from './rights.ts'
import type { Right } from './right.ts'

const isRole = (right: Right): right is OrganizationRole =>
  right === 'viewer' || right === 'editor' || right === 'admin'

/** Returns true when the role of a session is enough for a right. */
export function hasRight({ role }: Pick<Session, 'role'>, right: Right): boolean {
  return !isRole(right) || (role !== null && includesRole(role, right))
}

/** The routes of members, as patterns of the paths that lead to them. */
const PATTERNS = [...RIGHTS].flatMap(([route, right]) => {
  const [method = '', path = ''] = route.split(' ')
  const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`)
  return isRole(right) ? [{ method, pattern, right }] : []
})

/** Returns true unless the role of a session does not allow what a link or a form leads to. */
export function mayCall(session: Pick<Session, 'role'>, method: string, path: string): boolean {
  const found = PATTERNS.find((each) => each.method === method && each.pattern.test(path))
  return found === undefined || hasRight(session, found.right)
}

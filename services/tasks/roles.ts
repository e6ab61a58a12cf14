import { deleteSessionsOf } from '../platform/people/sessions.ts'
import { grantRole, revokeRole, ROLES } from '../platform/people/users.ts'
import type { Role } from '../platform/people/users.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { findUser } from './find-user.ts'
import { recordUserChange } from './record.ts'

interface RoleChange {
  /** An e-mail address, or the id of a user. */
  readonly who: string
  /** @default 'platform-admin' */
  readonly role: string | undefined
  readonly kind: 'grant' | 'revoke'
}

/**
 * Grants a role by hand, or takes back one that was granted so, and ends the user's sessions when
 * that changed something: the new rights come with a new session (SPEC 5.1). Raises
 * `invalid_request`, `not_found`, `conflict`.
 */
export async function changeRole(sql: Database, change: RoleChange, log: Log): Promise<void> {
  const role = readRole(change)
  const userId = await findUser(sql, change.who, usage(change))
  const audit = change.kind === 'grant' ? 'role_granted' : 'role_withdrawn'
  const sessions = await sql.begin(async (tx) => {
    const verb = change.kind === 'grant' ? grantRole : revokeRole
    if (!(await verb(tx, userId, role))) return undefined
    await recordUserChange(tx, audit, { id: userId, name: change.who, after: { role } })
    return deleteSessionsOf(tx, userId)
  })
  const facts = { user_id: userId, role, source: 'local' }
  if (sessions === undefined) return log.info(facts, 'nothing to change')
  log.info({ audit, ...facts, sessions_ended: sessions }, 'audit')
}

const usage = ({ kind }: RoleChange): string => `Use: users:${kind} EMAIL|ID [ROLE]`

function readRole(change: RoleChange): Role {
  const { role: given = 'platform-admin' } = change
  const role = ROLES.find((each) => each === given)
  if (role) return role
  const message = `There is no role "${given}", only ${ROLES.join(' and ')}. ${usage(change)}`
  throw new AppError('invalid_request', message)
}

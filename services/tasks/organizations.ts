import { OPERATOR, writeAudit } from '../platform/audit/audit.ts'
import {
  ORGANIZATION_ROLES,
  readOrganizationRole,
  removeMember,
  setMembership,
} from '../platform/people/memberships.ts'
import { createOrganization, getOrganizationByName } from '../platform/people/organizations.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { findUser } from './find-user.ts'

/** Creates an organization. Raises `invalid_request` and, for a name that is taken, `conflict`. */
export async function addOrganization(sql: Database, log: Log, name = ''): Promise<void> {
  const id = await sql.begin(async (tx) => {
    const created = await createOrganization(tx, name)
    const target = { kind: 'organization', id: created.id, name }
    const entry = { action: 'organization_created', organizationId: created.id, target }
    await writeAudit(tx, OPERATOR, entry)
    return created.id
  })
  log.info({ audit: 'organization_created', organization_id: id, name }, 'audit')
}

/** A membership, as given on the command line. */
interface MemberRequest {
  /** An e-mail address, or the id of a user. */
  readonly who: string | undefined
  readonly organization: string | undefined
  readonly role?: string | undefined
}

/**
 * Makes a person a member of an organization, or changes the role of one, from the next request on.
 * Raises `invalid_request`, `not_found` and `conflict`.
 */
export async function setMember(
  sql: Database,
  { who = '', organization, role: given }: MemberRequest,
  log: Log,
): Promise<void> {
  const roles = ORGANIZATION_ROLES.join(' or ')
  const usage = `Use: members:set EMAIL|ID ORGANIZATION ROLE, where ROLE is ${roles}`
  const role = readOrganizationRole(given ?? '')
  if (organization === undefined || role === undefined) throw new AppError('invalid_request', usage)
  const userId = await findUser(sql, who, usage)
  const { id: organizationId } = await getOrganizationByName(sql, organization)
  await sql.begin(async (tx) => {
    await setMembership(tx, { userId, organizationId, role })
    const target = { kind: 'user', id: userId, name: who }
    await writeAudit(tx, OPERATOR, {
      action: 'member_set',
      organizationId,
      target,
      after: { role },
    })
  })
  const facts = { user_id: userId, organization_id: organizationId, role }
  log.info({ audit: 'member_set', ...facts }, 'audit')
}

/**
 * Ends a membership, from the next request on; what the person made stays. Raises
 * `invalid_request`, `not_found`, and `conflict` for the last admin.
 */
export async function dropMember(
  sql: Database,
  { who = '', organization }: MemberRequest,
  log: Log,
): Promise<void> {
  const usage = 'Use: members:remove EMAIL|ID ORGANIZATION'
  if (organization === undefined) throw new AppError('invalid_request', usage)
  const userId = await findUser(sql, who, usage)
  const { id: organizationId } = await getOrganizationByName(sql, organization)
  const facts = { user_id: userId, organization_id: organizationId }
  const isRemoved = await sql.begin(async (tx) => {
    if (!(await removeMember(tx, { userId, organizationId }))) return false
    const target = { kind: 'user', id: userId, name: who }
    await writeAudit(tx, OPERATOR, { action: 'member_removed', organizationId, target })
    return true
  })
  if (!isRemoved) {
    return log.info(facts, 'nothing to remove: the user has no role there that was given here')
  }
  log.info({ audit: 'member_removed', ...facts }, 'audit')
}

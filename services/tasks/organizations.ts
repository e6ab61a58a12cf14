import { OPERATOR, writeAudit } from '../platform/audit.ts'
import { createOrganization, getOrganizationByName } from '../platform/organizations.ts'
import { deleteSessionsOf } from '../platform/sessions.ts'
import { moveUser } from '../platform/users.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { findUser } from './find-user.ts'
import { recordUserChange } from './record.ts'

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

/** A person and the organization to move to, as given on the command line. */
export interface Move {
  /** An e-mail address, or the id of a user. */
  readonly who: string | undefined
  readonly organization: string | undefined
}

/**
 * Moves a user to another organization and ends the user's sessions: what they see changes. Raises
 * `invalid_request`, `not_found` and `conflict`.
 */
export async function moveToOrganization(
  sql: Database,
  { who = '', organization }: Move,
  log: Log,
): Promise<void> {
  const usage = 'Use: users:move EMAIL|ID ORGANIZATION'
  if (organization === undefined) throw new AppError('invalid_request', usage)
  const userId = await findUser(sql, who, usage)
  const { id: organizationId } = await getOrganizationByName(sql, organization)
  const facts = { user_id: userId, organization_id: organizationId }
  const sessions = await sql.begin(async (tx) => {
    if (!(await moveUser(tx, userId, organizationId))) return undefined
    const after = { organization }
    await recordUserChange(tx, 'user_moved', { id: userId, name: who, after })
    return deleteSessionsOf(tx, userId)
  })
  if (sessions === undefined) return log.info(facts, 'nothing to move: the user is there already')
  log.info({ audit: 'user_moved', ...facts, sessions_ended: sessions }, 'audit')
}

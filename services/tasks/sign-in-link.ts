import { createAccountLink } from '../platform/people/account-links.ts'
import { OPERATOR, writeAudit } from '../platform/audit/audit.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { findUser } from './find-user.ts'

/**
 * Makes a link that signs a user in once, for when the identity provider lets nobody in and
 * passwords are off. Returns its path. Raises `not_found`, and `conflict` for a disabled user.
 */
export async function createSignInLink(sql: Database, who: string, log: Log): Promise<string> {
  const userId = await findUser(sql, who, 'Use: users:link EMAIL|ID')
  const token = await sql.begin(async (tx) => {
    const created = await createAccountLink(tx, { userId, purpose: 'sign-in' })
    if (created === undefined) return undefined
    const target = { kind: 'user', id: userId, name: who }
    await writeAudit(tx, OPERATOR, { action: 'sign_in_link_created', target })
    return created
  })
  if (token === undefined) {
    const message = `User ${userId} is disabled. \`users:enable ${userId}\` lets them in again.`
    throw new AppError('conflict', message)
  }
  log.info({ audit: 'sign_in_link_created', user_id: userId }, 'audit')
  return `/sign-in/link/${token}`
}

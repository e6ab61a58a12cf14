import { randomBytes } from 'node:crypto'
import { disableUser, enableUser, listUsers, setPassword } from '../platform/people/accounts.ts'
import type { AccountRow } from '../platform/people/accounts.ts'
import { hashPassword } from '../platform/people/passwords.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { findUser } from './find-user.ts'
import { recordUserChange } from './record.ts'

const PAGE_ROWS = 500

/** 120 random bits, to be handed over once. */
export const newPassword = (): string => randomBytes(15).toString('base64url')

/**
 * Gives a local account a new random password and ends its sessions. Returns the password, which is
 * stored as a hash only. Raises `not_found`, and `conflict` for a user of an identity provider.
 */
export async function resetPassword(sql: Database, who: string, log: Log): Promise<string> {
  const userId = await findUser(sql, who, 'Use: users:password EMAIL|ID')
  const password = newPassword()
  const passwordHash = await hashPassword(password)
  const sessions = await sql.begin(async (tx) => {
    const ended = await setPassword(tx, { userId, passwordHash })
    if (ended !== undefined) await recordUserChange(tx, 'password_reset', { id: userId, name: who })
    return ended
  })
  if (sessions === undefined) {
    throw new AppError(
      'conflict',
      `User ${userId} signs in through an identity provider and has no password here. Change ` +
        'it there.',
    )
  }
  log.info({ audit: 'password_reset', user_id: userId, sessions_ended: sessions }, 'audit')
  return password
}

/**
 * Keeps a user out, at once and whatever the identity provider says. Raises `not_found` and
 * `conflict`.
 */
export async function disable(sql: Database, who: string, log: Log): Promise<void> {
  const userId = await findUser(sql, who, 'Use: users:disable EMAIL|ID')
  const { changed, sessionsEnded, liveTokens } = await sql.begin(async (tx) => {
    const disabled = await disableUser(tx, userId)
    if (disabled.changed) await recordUserChange(tx, 'user_disabled', { id: userId, name: who })
    return disabled
  })
  const facts = { user_id: userId, sessions_ended: sessionsEnded, live_tokens: liveTokens }
  if (!changed) return log.info(facts, 'nothing to do: the user was disabled already')
  log.info({ audit: 'user_disabled', ...facts }, 'audit')
  if (liveTokens > 0) {
    log.warn(facts, 'tokens that this user issued still work; revoke them in the console')
  }
}

/** Lets a user in again. Raises `not_found` and `conflict`. */
export async function enable(sql: Database, who: string, log: Log): Promise<void> {
  const userId = await findUser(sql, who, 'Use: users:enable EMAIL|ID')
  const facts = { user_id: userId }
  const isEnabled = await sql.begin(async (tx) => {
    if (!(await enableUser(tx, userId))) return false
    await recordUserChange(tx, 'user_enabled', { id: userId, name: who })
    return true
  })
  if (!isEnabled) {
    return log.info(facts, 'nothing to do: the user was not disabled')
  }
  log.info({ audit: 'user_enabled', ...facts }, 'audit')
}

/** Every user, a line each: id, state, roles, memberships, address, way of signing in. */
export async function printUsers(sql: Database, print: (line: string) => void): Promise<void> {
  let afterId = 0
  for (;;) {
    const users = await listUsers(sql, { afterId, limit: PAGE_ROWS })
    for (const user of users) print(lineOf(user))
    const last = users.at(-1)
    if (!last || users.length < PAGE_ROWS) return
    afterId = last.id
  }
}

function lineOf(user: AccountRow): string {
  const { id, disabledAt, roles, memberships, email, issuer, hasPassword } = user
  const way = issuer ?? (hasPassword ? 'password' : 'no password')
  const state = disabledAt ? 'disabled' : 'enabled'
  const where = memberships.join(', ') || '-'
  const columns = [id, state, roles.join(',') || '-', where, email ?? '-', way]
  // Names and addresses are what people and providers wrote.
  return columns.map((each) => String(each).replaceAll(/\p{Cc}/gu, '?')).join('\t')
}

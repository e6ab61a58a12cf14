import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { deleteOtherSessions, deleteSessionsOf } from './sessions.ts'
import { clearFailures } from './sign-in-failures.ts'
import type { Role } from './users.ts'

/** A user as operators see it. */
export interface AccountRow {
  readonly id: number
  /** Each organization with the role in it, such as `Acme: admin`. */
  readonly memberships: readonly string[]
  readonly email: string | null
  /** null: a local account. */
  readonly issuer: string | null
  readonly hasPassword: boolean
  readonly disabledAt: Date | null
  readonly roles: readonly Role[]
}

/** Users by id, from after `afterId`; fewer than `limit` are the last ones. */
export async function listUsers(
  sql: Queryable,
  { afterId, limit }: { afterId: number; limit: number },
): Promise<AccountRow[]> {
  return sql<AccountRow[]>`
    select u.id, u.email, u.issuer, u.disabled_at, u.password_hash is not null as has_password,
      array(
        select o.name || ': ' || max(m.role)::text
        from memberships m join organizations o on o.id = m.organization_id
        where m.user_id = u.id group by o.name order by o.name) as memberships,
      array(select distinct role from user_roles r where r.user_id = u.id order by role) as roles
    from users u where u.id > ${afterId} order by u.id limit ${limit}`
}

interface NewPassword {
  readonly userId: number
  /** From `hashPassword`. */
  readonly passwordHash: string
  /** The session that goes on; all others of the user end. */
  readonly keptToken?: string
}

/**
 * Sets the password of a local account. Returns how many sessions ended; undefined when there is no
 * such local account.
 */
export async function setPassword(
  sql: Queryable,
  change: NewPassword,
): Promise<number | undefined> {
  const { userId, passwordHash, keptToken = '' } = change
  return inTransaction(sql, async (transaction) => {
    const [user] = await transaction<{ email: string }[]>`
      update users set password_hash = ${passwordHash}
      where id = ${userId} and issuer is null returning email`
    if (!user) return undefined
    await clearFailures(transaction, accountSubject(user.email))
    return deleteOtherSessions(transaction, userId, keptToken)
  })
}

/** The subject under which failures of a local account are counted. */
export const accountSubject = (email: string): string => `account:${email}`

interface Disabled {
  /** False: it was so already. */
  readonly changed: boolean
  readonly sessionsEnded: number
  /** Tokens that this user issued and that still work. */
  readonly liveTokens: number
}

/** Keeps a user out from now on: the sessions end, and no sign-in opens another. */
export async function disableUser(sql: Queryable, userId: number): Promise<Disabled> {
  return inTransaction(sql, async (transaction) => {
    const disabled = await transaction`
      update users set disabled_at = now()
      where id = ${userId} and disabled_at is null returning id`
    const [{ count }] = await transaction<[{ count: number }]>`
      select count(*)::int from static_tokens where created_by = ${userId} and revoked_at is null`
    const sessionsEnded = await deleteSessionsOf(transaction, userId)
    return { changed: disabled.length > 0, sessionsEnded, liveTokens: count }
  })
}

/**
 * Lets a user in again, by a new sign-in: a session that one made while the user was being disabled
 * ends too. Returns false when the user was not disabled.
 */
export async function enableUser(sql: Queryable, userId: number): Promise<boolean> {
  const enabled = await sql`
    with enabled as (
      update users set disabled_at = null
      where id = ${userId} and disabled_at is not null returning id),
    ended as (delete from sessions s using enabled where s.user_id = enabled.id)
    select id from enabled`
  return enabled.length > 0
}

/** The hash of a local account's password, if it has one. */
export async function findPasswordHash(sql: Queryable, userId: number): Promise<string | null> {
  const [found] = await sql<{ passwordHash: string | null }[]>`
    select password_hash from users where id = ${userId} and issuer is null`
  return found?.passwordHash ?? null
}

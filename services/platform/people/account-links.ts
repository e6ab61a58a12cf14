import type { Queryable } from '../../shared/postgres/database.ts'
import { hashLinkToken, isLinkToken, newLinkToken } from './secret-links.ts'

/** What a link is good for, and for how many minutes: a new password, or a session. */
export const LINK_MINUTES = { password: 24 * 60, 'sign-in': 15 } as const
/** What a link is good for. */
export type LinkPurpose = keyof typeof LINK_MINUTES

/** The person whom a link leads into an account. */
export interface LinkedUser {
  readonly userId: number
  readonly name: string
  readonly email: string | null
}

/**
 * Creates a link for a person who is not disabled, in place of the one before; for a password, one
 * with a local account. Returns its token, which is stored as a hash only; undefined when there is
 * no such person.
 */
export async function createAccountLink(
  sql: Queryable,
  { userId, purpose }: { userId: number; purpose: LinkPurpose },
): Promise<string | undefined> {
  const token = newLinkToken()
  const created = await sql`
    insert into account_links (token_hash, user_id, purpose, expires_at)
    select ${hashLinkToken(token)}, u.id, ${purpose},
      now() + make_interval(mins => ${LINK_MINUTES[purpose]})
    from users u where u.id = ${userId} and ${isFor(sql, purpose)}
    on conflict (user_id, purpose) do update set token_hash = excluded.token_hash,
      created_at = excluded.created_at, expires_at = excluded.expires_at
    returning user_id`
  return created.length > 0 ? token : undefined
}

/** Returns the person of a link that is still good, without using it up. */
export async function findAccountLink(
  sql: Queryable,
  token: string,
  purpose: LinkPurpose,
): Promise<LinkedUser | undefined> {
  if (!isLinkToken(token)) return undefined
  const [found] = await sql<LinkedUser[]>`
    select u.id as user_id, u.name, u.email from account_links l join users u on u.id = l.user_id
    where l.token_hash = ${hashLinkToken(token)} and l.purpose = ${purpose}
      and l.expires_at > now() and ${isFor(sql, purpose)}`
  return found
}

/** Uses a link up. Returns the id of its person; undefined when it is no longer good. */
export async function useAccountLink(
  sql: Queryable,
  token: string,
  purpose: LinkPurpose,
): Promise<number | undefined> {
  const [used] = await sql<{ userId: number }[]>`
    delete from account_links l using users u
    where l.token_hash = ${hashLinkToken(token)} and l.purpose = ${purpose}
      and l.expires_at > now() and u.id = l.user_id and ${isFor(sql, purpose)}
    returning l.user_id`
  return used?.userId
}

const isFor = (sql: Queryable, purpose: LinkPurpose) =>
  purpose === 'password'
    ? sql`u.disabled_at is null and u.issuer is null`
    : sql`u.disabled_at is null`

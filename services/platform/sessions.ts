import { createHash, randomBytes } from 'node:crypto'
import type { Queryable } from '../shared/postgres/database.ts'
import type { Role, User } from './users.ts'

/** A session ends after 12 hours, or after 2 hours without a request. */
const LIFETIME = '12 hours'
const IDLE = '2 hours'

/** A person's session in a browser. */
export interface Session {
  readonly user: User
  readonly organization: string
  /** Signs in with a password of this platform, rather than through an identity provider. */
  readonly isLocal: boolean
  /** Every form of this session carries it back. */
  readonly csrfToken: string
  /** True where the program that opened it reaches a trace collector. */
  readonly hasTraces?: boolean
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/**
 * Opens a session and returns its token, which only the cookie holds. Always a new one: an id is
 * never taken over (fixation).
 */
export async function createSession(sql: Queryable, userId: number): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  const csrfToken = randomBytes(32).toString('base64url')
  await sql`
    insert into sessions (token_hash, user_id, csrf_token, expires_at)
    values (${hashOf(token)}, ${userId}, ${csrfToken}, now() + ${LIFETIME}::interval)`
  return token
}

interface SessionRow {
  userId: number
  organizationId: number
  email: string | null
  name: string
  roles: User['roles']
  organization: string
  isLocal: boolean
  csrfToken: string
}

/**
 * Returns the live session of a token, with its user and the user's current roles; marks it as
 * used.
 */
export async function findSession(sql: Queryable, token: string): Promise<Session | undefined> {
  const [row] = await sql<SessionRow[]>`
    with live as (
      update sessions set last_seen_at = now()
      where token_hash = ${hashOf(token)}
        and expires_at > now() and last_seen_at > now() - ${IDLE}::interval
      returning user_id, csrf_token)
    select live.user_id, live.csrf_token, u.organization_id, u.email, u.name,
      o.name as organization, u.issuer is null as is_local,
      array(select distinct role from user_roles r where r.user_id = u.id order by role) as roles
    from live join users u on u.id = live.user_id and u.disabled_at is null
      join organizations o on o.id = u.organization_id`
  if (!row) return undefined
  const { userId: id, organizationId, email, name, roles, ...session } = row
  const { organization, isLocal, csrfToken } = session
  return { user: { id, organizationId, email, name, roles }, organization, isLocal, csrfToken }
}

/**
 * Checks that a token opens a live session of a user who has the role now. Reads only: the session
 * does not count as used.
 */
export async function hasLiveRole(sql: Queryable, token: string, role: Role): Promise<boolean> {
  const found = await sql`
    select from sessions s join user_roles r on r.user_id = s.user_id
      join users u on u.id = s.user_id and u.disabled_at is null
    where s.token_hash = ${hashOf(token)} and r.role = ${role}
      and s.expires_at > now() and s.last_seen_at > now() - ${IDLE}::interval`
  return found.length > 0
}

/**
 * Stores the ID token that the identity provider asks for when this session ends; sealed by the
 * caller.
 */
export async function storeIdToken(
  sql: Queryable,
  token: string,
  sealedIdToken: string,
): Promise<void> {
  await sql`
    update sessions set sealed_id_token = ${sealedIdToken} where token_hash = ${hashOf(token)}`
}

/** Ends a session. Returns the sealed ID token that was kept with it, if there was one. */
export async function deleteSession(sql: Queryable, token: string): Promise<string | undefined> {
  const [row] = await sql<{ sealedIdToken: string | null }[]>`
    delete from sessions where token_hash = ${hashOf(token)} returning sealed_id_token`
  return row?.sealedIdToken ?? undefined
}

/**
 * Ends all sessions of a user whose rights changed: the next one has a new id (fixation). Returns
 * how many ended.
 */
export async function deleteSessionsOf(sql: Queryable, userId: number): Promise<number> {
  return (await sql`delete from sessions where user_id = ${userId}`).count
}

/** Ends the sessions of a user but the one of that token. Returns how many ended. */
export async function deleteOtherSessions(
  sql: Queryable,
  userId: number,
  token: string,
): Promise<number> {
  const ended = await sql`
    delete from sessions where user_id = ${userId} and token_hash <> ${hashOf(token)}`
  return ended.count
}

/** Deletes expired sessions, as each sign-in does. */
export async function deleteExpiredSessions(sql: Queryable): Promise<void> {
  await sql`
    delete from sessions where expires_at <= now() or last_seen_at <= now() - ${IDLE}::interval`
}

import { createHash, randomBytes } from 'node:crypto'
import type { Queryable } from '../../shared/postgres/database.ts'
import type { OrganizationRole } from './memberships.ts'
import type { Role, User } from './users.ts'

/** A session ends after 12 hours, or after 2 hours without a request. */
const LIFETIME = '12 hours'
const IDLE = '2 hours'
const CHOICES_MAX = 50
const APPROVALS_MAX = 100
const SESSIONS_MAX = 100
const ADDRESS_CHARACTERS_MAX = 64
const AGENT_CHARACTERS_MAX = 300

/** A person's session in a browser. */
export interface Session {
  readonly id: string
  readonly user: User
  /** The name of the organization that the person is in; empty when there is none. */
  readonly organization: string
  /** The role in that organization, now; null for somebody who is a member of none. */
  readonly role: OrganizationRole | null
  /** The organizations to change to, by name; the first of them, if there are many. */
  readonly organizations: readonly OrganizationChoice[]
  /** The approvals that wait for the people of the organization; 100 for more. */
  readonly approvals: number
  /** Signs in with a password of this platform, rather than through an identity provider. */
  readonly isLocal: boolean
  /** Every form of this session carries it back; a new one in each organization. */
  readonly csrfToken: string
  /** True where the program that opened it reaches a trace collector. */
  readonly hasTraces?: boolean
  /** True where the person wants lists with little room between their rows. */
  readonly isCompact?: boolean
  /** Returns false for a route of the program that the role does not allow. */
  readonly mayCall?: (method: string, path: string) => boolean
}

/** An organization of a person. */
export interface OrganizationChoice {
  readonly id: number
  readonly name: string
  readonly role: OrganizationRole
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()
const randomToken = (): string => randomBytes(32).toString('base64url')

/** Where a session began, as people recognize it. */
export interface SessionOrigin {
  readonly clientAddress?: string
  readonly userAgent?: string
}

/**
 * Opens a session in the organization that the person was in last, and returns its token, which
 * only the cookie holds. Always a new one: an id is never taken over (fixation).
 */
export async function createSession(
  sql: Queryable,
  userId: number,
  { clientAddress = '', userAgent = '' }: SessionOrigin = {},
): Promise<string> {
  const token = randomToken()
  await sql`
    insert into sessions
      (token_hash, user_id, csrf_token, expires_at, organization_id, client_address, user_agent)
    select ${hashOf(token)}, id, ${randomToken()}, now() + ${LIFETIME}::interval, organization_id,
      ${clientAddress.slice(0, ADDRESS_CHARACTERS_MAX)},
      ${printable(userAgent).slice(0, AGENT_CHARACTERS_MAX)}
    from users where id = ${userId}`
  return token
}

/** What a browser says of itself, without what PostgreSQL does not store and pages do not show. */
const printable = (text: string): string => text.replaceAll(/\p{C}/gu, ' ')

interface SessionRow {
  readonly id: string
  readonly userId: number
  readonly organizationId: number | null
  readonly email: string | null
  readonly name: string
  readonly roles: User['roles']
  readonly organization: string | null
  readonly role: OrganizationRole | null
  readonly organizations: OrganizationChoice[]
  readonly approvals: number
  readonly isLocal: boolean
  readonly csrfToken: string
}

/**
 * Returns the live session of a token, with its user and the user's roles as they are now; marks it
 * as used. Somebody who is no longer a member of the organization goes on in another one.
 */
export async function findSession(sql: Queryable, token: string): Promise<Session | undefined> {
  const row = await readRow(sql, token)
  const [other] = row?.role === null ? row.organizations : []
  if (!row || !other) return row && toSession(row)
  await enterOrganization(sql, token, other.id)
  const moved = await readRow(sql, token)
  return moved && toSession(moved)
}

function toSession(row: SessionRow): Session {
  const { userId, organizationId, email, name, roles, organization, ...session } = row
  // Nothing of the organization is for somebody who is no member.
  const [id, shown] = session.role ? [organizationId ?? 0, organization ?? ''] : [0, '']
  const user = { id: userId, organizationId: id, email, name, roles }
  return { ...session, user, organization: shown }
}

async function readRow(sql: Queryable, token: string): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    with live as (
      update sessions set last_seen_at = now()
      where token_hash = ${hashOf(token)}
        and expires_at > now() and last_seen_at > now() - ${IDLE}::interval
      returning id, user_id, organization_id, csrf_token),
    mine as (
      select m.organization_id as id, max(m.role) as role
      from live join memberships m on m.user_id = live.user_id group by 1)
    select live.id, live.user_id, live.csrf_token, live.organization_id, u.email, u.name,
      u.issuer is null as is_local, o.name as organization, mine.role,
      array(select distinct role from user_roles r where r.user_id = u.id order by role) as roles,
      (select coalesce(jsonb_agg(choice), '[]') from (
        select m.id, c.name, m.role from mine m join organizations c on c.id = m.id
        order by c.name limit ${CHOICES_MAX}) as choice) as organizations,
      (select count(*)::int from (
        select from executions e join run_approvals a on a.run_id = e.id
        where e.organization_id = mine.id and e.status = 'waiting' and a.decision is null
        limit ${APPROVALS_MAX}) as waiting) as approvals
    from live join users u on u.id = live.user_id and u.disabled_at is null
      left join mine on mine.id = live.organization_id
      left join organizations o on o.id = live.organization_id`
  return row
}

/**
 * Takes a session into an organization that its person is a member of. A change gives it a new CSRF
 * token: a form that was shown in another organization never acts in this one. Returns false when
 * the person is no member.
 */
export async function enterOrganization(
  sql: Queryable,
  token: string,
  organizationId: number,
): Promise<boolean> {
  const entered = await sql`
    with entered as (
      update sessions s set organization_id = ${organizationId}, csrf_token =
        case when organization_id = ${organizationId} then csrf_token else ${randomToken()} end
      where s.token_hash = ${hashOf(token)} and exists (
        select from memberships m
        where m.user_id = s.user_id and m.organization_id = ${organizationId})
      returning user_id)
    update users u set organization_id = ${organizationId} from entered
    where u.id = entered.user_id returning u.id`
  return entered.length > 0
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

/** A session as its person sees it. */
export interface ListedSession {
  readonly id: string
  readonly createdAt: Date
  readonly lastSeenAt: Date
  /** Both may be empty: where the session began was not recorded. */
  readonly clientAddress: string
  readonly userAgent: string
}

/** Returns the live sessions of a person, the one used last first. */
export const listSessions = (sql: Queryable, userId: number): Promise<ListedSession[]> =>
  sql<ListedSession[]>`
    select id, created_at, last_seen_at, coalesce(client_address, '') as client_address,
      coalesce(user_agent, '') as user_agent
    from sessions
    where user_id = ${userId} and expires_at > now() and last_seen_at > now() - ${IDLE}::interval
    order by last_seen_at desc, id limit ${SESSIONS_MAX}`

/** Ends one session of a person. Returns false when there is no such session. */
export async function endSession(
  sql: Queryable,
  { id, userId }: { id: string; userId: number },
): Promise<boolean> {
  const ended = await sql`
    delete from sessions where id = ${id} and user_id = ${userId} returning id`
  return ended.length > 0
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

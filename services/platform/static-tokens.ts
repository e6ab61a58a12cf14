import { createHash, randomBytes } from 'node:crypto'
import type { Queryable } from '../shared/postgres/database.ts'
import { contains, keyset, toPage } from './paging.ts'
import type { Page, PageRequest } from './paging.ts'

/** Distinguishes a static token from a JWT, and lets secret scanners find one that leaked. */
const PREFIX = 'pat_'

/** A static token as people see it: without its secret. */
export interface StaticToken {
  readonly id: number
  readonly name: string
  readonly lastFour: string
  /** null: the token is valid for every automation of the organization. */
  readonly deploymentId: number | null
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

interface NewStaticToken {
  readonly organizationId: number
  readonly deploymentId: number | null
  readonly name: string
  readonly createdBy: number | null
}

const columns = (sql: Queryable) => sql`
  id, name, last_four, deployment_id, created_at, last_used_at`

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/**
 * Recognizes a static token by its shape. The shape alone decides how a bearer token is verified.
 */
export const isStaticToken = (token: string): boolean => /^pat_[A-Za-z0-9_-]{43}$/.test(token)

/** A static token that was just issued. */
export interface IssuedStaticToken {
  readonly id: number
  /** 256 random bits, seen this once: the database keeps its SHA-256. */
  readonly secret: string
}

/** Issues a token. */
export async function createStaticToken(
  sql: Queryable,
  token: NewStaticToken,
): Promise<IssuedStaticToken> {
  const secret = PREFIX + randomBytes(32).toString('base64url')
  const row = { ...token, tokenHash: hashOf(secret), lastFour: secret.slice(-4) }
  const [{ id }] = await sql<[{ id: number }]>`
    insert into static_tokens ${sql(row)} returning id`
  return { id, secret }
}

/** Issues a token and returns its secret. */
export const issueStaticToken = async (sql: Queryable, token: NewStaticToken): Promise<string> =>
  (await createStaticToken(sql, token)).secret

/**
 * Returns the token if it may call the automation; marks it as used, at most once a minute.
 * Undefined for any other token.
 */
export async function acceptStaticToken(
  sql: Queryable,
  token: string,
  automation: { id: number; organizationId: number },
): Promise<Pick<StaticToken, 'id' | 'name'> | undefined> {
  const [found] = await sql<{ id: number; name: string; stale: boolean }[]>`
    select id, name, coalesce(last_used_at < now() - interval '1 minute', true) as stale
    from static_tokens
    where token_hash = ${hashOf(token)} and revoked_at is null
      and organization_id = ${automation.organizationId}
      and (deployment_id is null or deployment_id = ${automation.id})`
  if (found?.stale) await sql`update static_tokens set last_used_at = now() where id = ${found.id}`
  return found && { id: found.id, name: found.name }
}

/** The organization that a token opens as a whole. */
interface OrganizationToken {
  readonly id: number
  readonly name: string
  readonly organizationId: number
  /** The platform's own organization. */
  readonly internal: boolean
}

/**
 * Returns the organization of a token that is valid for all of it; marks the token as used, at most
 * once a minute.
 */
export async function findOrganizationToken(
  sql: Queryable,
  token: string,
): Promise<OrganizationToken | undefined> {
  const [found] = await sql<(OrganizationToken & { stale: boolean })[]>`
    select t.id, t.name, t.organization_id, o.internal,
      coalesce(t.last_used_at < now() - interval '1 minute', true) as stale
    from static_tokens t join organizations o on o.id = t.organization_id
    where t.token_hash = ${hashOf(token)} and t.revoked_at is null and t.deployment_id is null`
  if (!found) return undefined
  if (found.stale) await sql`update static_tokens set last_used_at = now() where id = ${found.id}`
  const { stale: _, ...opened } = found
  return opened
}

/**
 * Returns the live tokens that may call an automation, newest first; the search looks into names
 * and last four characters.
 */
export async function listStaticTokens(
  sql: Queryable,
  { id, organizationId }: { id: number; organizationId: number },
  page: PageRequest,
): Promise<Page<StaticToken>> {
  const newestFirst = {
    columns: [sql`id`],
    at: (cursor: string) => sql`(${cursor}::int)`,
    descending: true,
  }
  const isListed = sql`
    organization_id = ${organizationId} and (deployment_id is null or deployment_id = ${id})
      and revoked_at is null and (${contains(sql, [sql`name`, sql`last_four`], page.search)})`
  const [rows, [{ total }]] = await Promise.all([
    sql<StaticToken[]>`
      select ${columns(sql)} from static_tokens
      where ${isListed} ${keyset(sql, newestFirst, page)}`,
    sql<[{ total: number }]>`
      select count(*)::int as total from static_tokens where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: (token) => String(token.id) })
}

/** A live token of the organization; one of another organization is not found. */
export async function findStaticToken(
  sql: Queryable,
  { id, organizationId }: { id: number; organizationId: number },
): Promise<StaticToken | undefined> {
  const [found] = await sql<StaticToken[]>`
    select ${columns(sql)} from static_tokens
    where id = ${id} and organization_id = ${organizationId} and revoked_at is null`
  return found
}

/** Revokes a token of the organization at once. Returns false when there is no such live token. */
export async function revokeStaticToken(
  sql: Queryable,
  { id, organizationId }: { id: number; organizationId: number },
): Promise<boolean> {
  const revoked = await sql`
    update static_tokens set revoked_at = now()
    where id = ${id} and organization_id = ${organizationId} and revoked_at is null returning id`
  return revoked.length > 0
}

import { randomBytes } from 'node:crypto'
import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { hashOf } from './static-token-use.ts'
import { UNLIMITED } from './token-limits.ts'
import type { TokenLimits } from './token-limits.ts'
import { contains, idOfCursor, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'

/** Distinguishes a static token from a JWT, and lets secret scanners find one that leaked. */
const PREFIX = 'pat_'

/** The tokens of an organization that are not deleted, ended ones included. */
export const STATIC_TOKENS_MAX = 1000

/** The days before the end of a token in which pages warn of it. */
export const ENDING_DAYS = 14

/** A static token as people see it: without its secret. */
interface StaticToken extends TokenLimits {
  readonly id: number
  readonly name: string
  readonly lastFour: string
  /** null: the token is valid for every automation of the organization. */
  readonly deploymentId: number | null
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
  /** Where the last call came from. */
  readonly lastUsedAddress: string | null
}

interface NewStaticToken extends Partial<TokenLimits> {
  readonly organizationId: number
  readonly deploymentId: number | null
  readonly name: string
  readonly createdBy: number | null
  /** The token whose place it takes. */
  readonly replaces?: number | undefined
}

const columns = (sql: Queryable) => sql`
  t.id, t.name, t.last_four, t.deployment_id, t.created_at, t.last_used_at, t.last_used_address,
  t.scopes, t.expires_at, t.networks::text[] as networks`

/**
 * Recognizes a static token by its shape. The shape alone decides how a bearer token is verified.
 */
export const isStaticToken = (token: string): boolean => /^pat_[A-Za-z0-9_-]{43}$/.test(token)

/** A static token that was just issued. */
interface IssuedStaticToken {
  readonly id: number
  /** 256 random bits, seen this once: the database keeps its SHA-256. */
  readonly secret: string
}

/**
 * Issues a token; without limits that it was not given. Raises `conflict` when the organization has
 * as many as it may have.
 */
export async function createStaticToken(
  sql: Queryable,
  token: NewStaticToken,
): Promise<IssuedStaticToken> {
  const secret = PREFIX + randomBytes(32).toString('base64url')
  const { organizationId, deploymentId, name, createdBy, replaces = null } = token
  const { scopes, expiresAt, networks } = { ...UNLIMITED, ...token }
  return inTransaction(sql, async (tx) => {
    await tx`select from organizations where id = ${organizationId} for no key update`
    const [issued] = await tx<[{ id: number }?]>`
      insert into static_tokens (organization_id, deployment_id, name, created_by, token_hash,
        last_four, scopes, expires_at, networks, replaces)
      select ${organizationId}, ${deploymentId}, ${name}, ${createdBy}, ${hashOf(secret)},
        ${secret.slice(-4)}, ${[...scopes]}, ${expiresAt}, ${[...networks]}::text[]::cidr[],
        ${replaces}
      where (
        select count(*) from static_tokens
        where organization_id = ${organizationId} and revoked_at is null) < ${STATIC_TOKENS_MAX}
      returning id`
    if (issued) return { ...issued, secret }
    throw new AppError(
      'conflict',
      `An organization has at most ${STATIC_TOKENS_MAX} static tokens. Delete one that is no ` +
        'longer used.',
    )
  })
}

/** Issues a token and returns its secret. */
export const issueStaticToken = async (sql: Queryable, token: NewStaticToken): Promise<string> =>
  (await createStaticToken(sql, token)).secret

/**
 * Returns the tokens that may call an automation, or with the id null all of the organization's,
 * newest first; the search looks into names and last four characters. Revoked ones are left out.
 */
export async function listStaticTokens(
  sql: Queryable,
  { id, organizationId }: { id: number | null; organizationId: number },
  page: PageRequest,
): Promise<Page<ListedToken>> {
  const newestFirst = {
    columns: [sql`t.id`],
    at: (cursor: string) => sql`(${idOfCursor(cursor)}::int)`,
    descending: true,
  }
  const isListed = sql`
    t.organization_id = ${organizationId} and t.revoked_at is null
      and (${id}::int is null or t.deployment_id is null or t.deployment_id = ${id}::int)
      and (${contains(sql, [sql`t.name`, sql`t.last_four`], page.search)})`
  const [rows, [{ total }]] = await Promise.all([
    sql<ListedToken[]>`
      select ${listed(sql)} where ${isListed} ${keyset(sql, newestFirst, page)}`,
    sql<[{ total: number }]>`
      select count(*)::int as total from static_tokens t where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: (token) => String(token.id) })
}

/** A token in a list, with the automation that it is for and whose place it takes. */
export interface ListedToken extends StaticToken {
  /** The slug of the automation. */
  readonly automation: string | null
  readonly automationId: string | null
  readonly automationName: string | null
  /** From when it was issued; null: for ever. */
  readonly days: number | null
  readonly replaces: number | null
}

const listed = (sql: Queryable) => sql`
  ${columns(sql)}, d.slug as automation, d.automation_id, d.name as automation_name, t.replaces,
  greatest(round(extract(epoch from t.expires_at - t.created_at) / 86400), 1)::int as days
  from static_tokens t left join deployments d on d.id = t.deployment_id`

/** A token of the organization; one of another organization, or a revoked one, is not found. */
export async function findStaticToken(
  sql: Queryable,
  { id, organizationId }: { id: number; organizationId: number },
): Promise<ListedToken | undefined> {
  const [found] = await sql<ListedToken[]>`
    select ${listed(sql)}
    where t.id = ${id} and t.organization_id = ${organizationId} and t.revoked_at is null`
  return found
}

/** Counts the tokens of an organization that end within some days, or have ended in the last. */
export async function countEndingTokens(
  sql: Queryable,
  organizationId: number,
  days: number,
): Promise<number> {
  const [{ count }] = await sql<[{ count: number }]>`
    select count(*)::int as count from static_tokens
    where organization_id = ${organizationId} and revoked_at is null
      and expires_at between now() - ${days} * interval '1 day'
        and now() + ${days} * interval '1 day'`
  return count
}

/**
 * Lets a token that was replaced end after some days, unless it ends sooner; with 0 at once.
 * Returns false when there is no such live token.
 */
export async function endStaticToken(
  sql: Queryable,
  { id, organizationId }: { id: number; organizationId: number },
  days: number,
): Promise<boolean> {
  const ended = await sql`
    update static_tokens set expires_at = least(expires_at, now() + ${days} * interval '1 day')
    where id = ${id} and organization_id = ${organizationId} and revoked_at is null
      and (expires_at is null or expires_at > now())
    returning id`
  return ended.length > 0
}

/**
 * Revokes the tokens of the organization that no person issued under a name, and that end within
 * some minutes. Returns their ids.
 */
export async function revokeShortTokens(
  sql: Queryable,
  { organizationId, name }: { organizationId: number; name: string },
  minutes: number,
): Promise<readonly number[]> {
  const revoked = await sql<{ id: number }[]>`
    update static_tokens set revoked_at = now()
    where organization_id = ${organizationId} and name = ${name} and created_by is null
      and revoked_at is null and expires_at <= now() + ${minutes} * interval '1 minute'
    returning id`
  return revoked.map(({ id }) => id)
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

import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { contains, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'

/** What a token of an organization may allow: it sends traces, or it reads them. */
export const TRACE_SCOPES = ['traces:write', 'traces:read'] as const
/** What a token of an organization allows. */
export type TraceScope = (typeof TRACE_SCOPES)[number]

/** A token of the trace collector as people see it: its record, which is all that is kept. */
export interface TraceToken {
  /** Its claim `jti`, by which the collector knows it. */
  readonly id: string
  readonly name: string
  readonly scope: TraceScope
  /** From when it was issued. */
  readonly days: number
  /** The name of who issued it; null when that user is gone. */
  readonly createdBy: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

interface NewTraceToken {
  readonly organizationId: number
  readonly name: string
  readonly scope: TraceScope
  readonly days: number
  readonly createdBy: number | null
}

interface TraceTokenKey {
  readonly id: string
  readonly organizationId: number
}

/**
 * Tokens that an organization may issue within a year, whether they are revoked or not: each that
 * is revoked takes memory of the collector, which refuses no token once it knows too many.
 */
export const TRACE_TOKENS_A_YEAR = 1000

/**
 * Records a token before it is signed. Raises `conflict` once the organization has issued as many
 * as it may.
 */
export async function recordTraceToken(
  sql: Queryable,
  { organizationId, name, scope, days, createdBy }: NewTraceToken,
): Promise<TraceToken> {
  const [recorded] = await sql<[{ id: string }?]>`
    insert into trace_tokens (organization_id, token_id, name, scope, created_by, expires_at)
    select ${organizationId}, gen_random_uuid(), ${name}, ${scope}, ${createdBy},
      date_trunc('second', now()) + ${days}::int * interval '1 day'
    where (
      select count(*) from trace_tokens
      where organization_id = ${organizationId} and created_at > now() - interval '1 year'
    ) < ${TRACE_TOKENS_A_YEAR}
    returning token_id as id`
  const token = recorded && (await findTraceToken(sql, { ...recorded, organizationId }))
  if (token) return token
  throw new AppError(
    'conflict',
    `Your organization has issued ${TRACE_TOKENS_A_YEAR} tokens within a year, which is the ` +
      'limit. Give tokens more days, and use one of them for several programs.',
  )
}

const columns = (sql: Queryable) => sql`
  t.token_id as id, t.name, t.scope, u.name as created_by, t.created_at, t.expires_at,
  round(extract(epoch from t.expires_at - t.created_at) / 86400)::int as days`

/** Neither revoked, nor expired for so long that no page needs to say so. */
const isListed = (sql: Queryable, organizationId: number) => sql`
  t.organization_id = ${organizationId} and t.revoked_at is null
    and t.created_at > now() - interval '1 year'`

/** Returns the tokens of an organization, newest first; the search looks into names and ids. */
export async function listTraceTokens(
  sql: Queryable,
  organizationId: number,
  page: PageRequest,
): Promise<Page<TraceToken>> {
  const newestFirst = {
    columns: [sql`t.id`],
    at: (cursor: string) => sql`(
      select id from trace_tokens
      where organization_id = ${organizationId} and token_id::text = ${cursor})`,
    descending: true,
  }
  const searched = [sql`t.name`, sql`t.token_id::text`]
  const isFound = sql`
    ${isListed(sql, organizationId)} and (${contains(sql, searched, page.search)})`
  const [rows, [{ total }]] = await Promise.all([
    sql<TraceToken[]>`
      select ${columns(sql)} from trace_tokens t left join users u on u.id = t.created_by
      where ${isFound} ${keyset(sql, newestFirst, page)}`,
    sql<[{ total: number }]>`
      select count(*)::int as total from trace_tokens t where ${isFound}`,
  ])
  return toPage(rows, page, { total, cursorOf: ({ id }) => id })
}

/** A token of the organization that is not revoked; one of another organization is not found. */
export async function findTraceToken(
  sql: Queryable,
  { id, organizationId }: TraceTokenKey,
): Promise<TraceToken | undefined> {
  const [found] = await sql<TraceToken[]>`
    select ${columns(sql)} from trace_tokens t left join users u on u.id = t.created_by
    where t.token_id = ${id} and ${isListed(sql, organizationId)}`
  return found
}

/** Records that the collector has revoked a token. */
export async function markTraceTokenRevoked(
  sql: Queryable,
  { id, organizationId, revokedBy }: TraceTokenKey & { readonly revokedBy: number | null },
): Promise<void> {
  await sql`
    update trace_tokens set revoked_at = now(), revoked_by = ${revokedBy}
    where token_id = ${id} and organization_id = ${organizationId} and revoked_at is null`
}

/** Counts the tokens of an organization that work, and expire within a week. */
export async function countExpiringTokens(sql: Queryable, organizationId: number): Promise<number> {
  const [row] = await sql<{ expiring: number }[]>`
    select count(*)::int as expiring from trace_tokens
    where organization_id = ${organizationId} and revoked_at is null
      and expires_at between now() and now() + interval '7 days'`
  return row?.expiring ?? 0
}

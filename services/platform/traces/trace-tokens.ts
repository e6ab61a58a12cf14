import type { Queryable } from '../../shared/postgres/database.ts'
import { contains, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'

/** What a token of an organization may allow: it sends traces, or it reads them. */
export const TRACE_SCOPES = ['traces:write', 'traces:read'] as const
/** What a token of an organization allows. */
export type TraceScope = (typeof TRACE_SCOPES)[number]

/** A token of the trace collector as people see it: its record, which is all that is kept. */
export interface TraceToken {
  readonly id: number
  /** Its claim `jti`, by which the collector knows it. */
  readonly tokenId: string
  readonly name: string
  readonly scope: TraceScope
  /** The name of who issued it; null when that user is gone. */
  readonly createdBy: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly revokedAt: Date | null
}

interface NewTraceToken {
  readonly organizationId: number
  readonly name: string
  readonly scope: TraceScope
  readonly days: number
  readonly createdBy: number
}

interface TraceTokenKey {
  readonly id: number
  readonly organizationId: number
}

/**
 * Tokens that an organization may issue within a year, whether they are revoked or not: each that
 * is revoked takes memory of the collector, which refuses no token once it knows too many.
 */
export const TRACE_TOKENS_A_YEAR = 1000

/**
 * Records a token before it is signed, and returns its id and its expiry. Undefined once the
 * organization has issued as many as it may.
 */
export async function recordTraceToken(
  sql: Queryable,
  { organizationId, name, scope, days, createdBy }: NewTraceToken,
): Promise<Pick<TraceToken, 'tokenId' | 'expiresAt'> | undefined> {
  const [recorded] = await sql<Pick<TraceToken, 'tokenId' | 'expiresAt'>[]>`
    insert into trace_tokens (organization_id, token_id, name, scope, created_by, expires_at)
    select ${organizationId}, gen_random_uuid(), ${name}, ${scope}, ${createdBy},
      date_trunc('second', now()) + ${days}::int * interval '1 day'
    where (
      select count(*) from trace_tokens
      where organization_id = ${organizationId} and created_at > now() - interval '1 year'
    ) < ${TRACE_TOKENS_A_YEAR}
    returning token_id, expires_at`
  return recorded
}

const columns = (sql: Queryable) => sql`
  t.id, t.token_id, t.name, t.scope, u.name as created_by, t.created_at, t.expires_at, t.revoked_at`

/** Returns the tokens of an organization, newest first; the search looks into names and ids. */
export async function listTraceTokens(
  sql: Queryable,
  organizationId: number,
  page: PageRequest,
): Promise<Page<TraceToken>> {
  const newestFirst = {
    columns: [sql`t.id`],
    at: (cursor: string) => sql`(${cursor}::int)`,
    descending: true,
  }
  const searched = [sql`t.name`, sql`t.token_id::text`]
  const isListed = sql`
    t.organization_id = ${organizationId} and (${contains(sql, searched, page.search)})`
  const [rows, [{ total }]] = await Promise.all([
    sql<TraceToken[]>`
      select ${columns(sql)} from trace_tokens t left join users u on u.id = t.created_by
      where ${isListed} ${keyset(sql, newestFirst, page)}`,
    sql<[{ total: number }]>`
      select count(*)::int as total from trace_tokens t where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: (token) => String(token.id) })
}

/** A token of the organization that is not revoked; one of another organization is not found. */
export async function findTraceToken(
  sql: Queryable,
  { id, organizationId }: TraceTokenKey,
): Promise<TraceToken | undefined> {
  const [found] = await sql<TraceToken[]>`
    select ${columns(sql)} from trace_tokens t left join users u on u.id = t.created_by
    where t.id = ${id} and t.organization_id = ${organizationId} and t.revoked_at is null`
  return found
}

/** Records that the collector has revoked a token. */
export async function markTraceTokenRevoked(
  sql: Queryable,
  { id, organizationId, revokedBy }: TraceTokenKey & { readonly revokedBy: number },
): Promise<void> {
  await sql`
    update trace_tokens set revoked_at = now(), revoked_by = ${revokedBy}
    where id = ${id} and organization_id = ${organizationId} and revoked_at is null`
}

/** Counts the tokens of an organization that work, and expire within a week. */
export async function countExpiringTokens(sql: Queryable, organizationId: number): Promise<number> {
  const [row] = await sql<{ expiring: number }[]>`
    select count(*)::int as expiring from trace_tokens
    where organization_id = ${organizationId} and revoked_at is null
      and expires_at between now() and now() + interval '7 days'`
  return row?.expiring ?? 0
}

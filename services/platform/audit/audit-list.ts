import type { Queryable } from '../../shared/postgres/database.ts'
import type { Actor } from './audit.ts'
import { contains, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'

/** An entry of the audit, as people see it. */
export interface ListedEntry {
  /** A number, as text. */
  readonly id: string
  readonly at: Date
  readonly actorKind: Actor['kind']
  readonly actorId: string | null
  readonly actorName: string
  readonly action: string
  readonly refused: boolean
  readonly targetKind: string
  readonly targetId: string | null
  readonly targetName: string | null
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
  readonly address: string | null
  readonly requestId: string | null
}

/** The entries that are asked for. */
export interface AuditFilter {
  /** null: those that concern the platform as a whole. */
  readonly organizationId: number | null
  /** A part of the name of whoever acted. */
  readonly who?: string | undefined
  /** A part of the name of the action, such as `webhook`. */
  readonly action?: string | undefined
  /** A part of the name or the id of the thing. */
  readonly target?: string | undefined
  readonly refused?: boolean | undefined
  /** Days of UTC, both included: `2026-11-22`. */
  readonly since?: string | undefined
  readonly until?: string | undefined
}

const columns = (sql: Queryable) => sql`
  id::text, at, actor_kind, actor_id, actor_name, action, refused, target_kind, target_id,
  target_name, before, after, address, request_id`

/** Returns a page of entries, the newest first. */
export async function listAudit(
  sql: Queryable,
  filter: AuditFilter,
  page: PageRequest,
): Promise<Page<ListedEntry>> {
  const newestFirst = {
    // Qualified, as the text of that name would come in another order.
    columns: [sql`audit_entries.id`],
    at: (cursor: string) => sql`(${cursor}::bigint)`,
    descending: true,
  }
  const [rows, [{ total }]] = await Promise.all([
    sql<ListedEntry[]>`
      select ${columns(sql)} from audit_entries
      where ${isListed(sql, filter)} ${keyset(sql, newestFirst, page)}`,
    sql<[{ total: number }]>`
      select count(*)::int as total from audit_entries where ${isListed(sql, filter)}`,
  ])
  return toPage(rows, page, { total, cursorOf: ({ id }) => id })
}

const EXPORT_ROWS = 500

/** Yields all entries of a filter, the newest first, some hundred at a time. */
export async function* exportAudit(
  sql: Queryable,
  filter: AuditFilter,
): AsyncGenerator<readonly ListedEntry[], void, undefined> {
  let last = '9223372036854775807'
  for (;;) {
    const rows = await sql<ListedEntry[]>`
      select ${columns(sql)} from audit_entries
      where ${isListed(sql, filter)} and id < ${last}::bigint
      order by audit_entries.id desc limit ${EXPORT_ROWS}`
    if (rows.length > 0) yield rows
    if (rows.length < EXPORT_ROWS) return
    last = rows.at(-1)?.id ?? '0'
  }
}

function isListed(sql: Queryable, filter: AuditFilter) {
  const { organizationId, who, action, target, refused, since, until } = filter
  const owner =
    organizationId === null
      ? sql`organization_id is null`
      : sql`organization_id = ${organizationId}`
  return sql`
    ${owner} and (${contains(sql, [sql`actor_name`], who)})
    and (${contains(sql, [sql`action`], action?.replaceAll(' ', '_'))})
    and (${contains(sql, [sql`target_name`, sql`target_id`, sql`target_kind`], target)})
    ${refused === undefined ? sql`` : sql`and refused = ${refused}`}
    ${since === undefined ? sql`` : sql`and at >= ${since}::date::timestamp at time zone 'UTC'`}
    ${
      until === undefined ? sql`` : sql`and at < (${until}::date + 1)::timestamp at time zone 'UTC'`
    }`
}

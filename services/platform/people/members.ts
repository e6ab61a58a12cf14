import type { Queryable } from '../../shared/postgres/database.ts'
import type { MemberKey, OrganizationRole } from './memberships.ts'
import { contains, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'

/** A member of an organization. */
export interface Member {
  readonly userId: number
  readonly name: string
  readonly email: string | null
  /** What counts: the higher one of the two below. */
  readonly role: OrganizationRole
  /** The role that was given here; null when there is none. */
  readonly localRole: OrganizationRole | null
  /** The role that groups of the identity provider give; null when they give none. */
  readonly claimedRole: OrganizationRole | null
  readonly isDisabled: boolean
  readonly since: Date
}

const columns = (sql: Queryable) => sql`
  u.id as user_id, u.name, u.email, u.disabled_at is not null as is_disabled,
  m.role, m.local_role, m.claimed_role, m.since`

const members = (sql: Queryable, organizationId: number) => sql`
  (select user_id, max(role) as role, min(created_at) as since,
    max(role) filter (where source = 'local') as local_role,
    max(role) filter (where source = 'claim') as claimed_role
  from memberships where organization_id = ${organizationId} group by user_id) m
  join users u on u.id = m.user_id`

/** Returns the members of an organization by name; the search looks into names and addresses. */
export async function listMembers(
  sql: Queryable,
  organizationId: number,
  page: PageRequest,
): Promise<Page<Member>> {
  const byName = {
    columns: [sql`lower(u.name)`, sql`u.id`],
    at: (cursor: string) => sql`(select lower(name), id from users where id = ${cursor}::int)`,
  }
  const isListed = sql`(${contains(sql, [sql`u.name`, sql`u.email`], page.search)})`
  const of = members(sql, organizationId)
  const [rows, [{ total }]] = await Promise.all([
    sql<Member[]>`
      select ${columns(sql)} from ${of} where ${isListed} ${keyset(sql, byName, page)}`,
    sql<[{ total: number }]>`select count(*)::int as total from ${of} where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: ({ userId }) => String(userId) })
}

/** Returns a member of an organization; undefined for anybody else. */
export async function findMember(
  sql: Queryable,
  { organizationId, userId }: MemberKey,
): Promise<Member | undefined> {
  const [found] = await sql<Member[]>`
    select ${columns(sql)} from ${members(sql, organizationId)} where u.id = ${userId}`
  return found
}

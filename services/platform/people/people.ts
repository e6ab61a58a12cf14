import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { contains, idOfCursor, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'

/** A person as administrators of the platform see one. */
export interface Person {
  readonly id: number
  readonly name: string
  readonly email: string | null
  /** Signs in with a password of this platform. */
  readonly isLocal: boolean
  readonly isPlatformAdmin: boolean
  readonly isDisabled: boolean
  /** Each organization with the role in it, such as `Acme: admin`; the first ones, if many. */
  readonly memberships: readonly string[]
  /** The tokens that this person issued and that still work. */
  readonly liveTokens: number
}

const MEMBERSHIPS_SHOWN = 5

const columns = (sql: Queryable) => sql`
  u.id, u.name, u.email, u.issuer is null as is_local, u.disabled_at is not null as is_disabled,
  exists (select from user_roles r where r.user_id = u.id and r.role = 'platform-admin')
    as is_platform_admin,
  array(
    select o.name || ': ' || max(m.role)::text
    from memberships m join organizations o on o.id = m.organization_id
    where m.user_id = u.id group by o.name order by o.name limit ${MEMBERSHIPS_SHOWN}
  ) as memberships,
  (select count(*)::int from static_tokens t where t.created_by = u.id and t.revoked_at is null)
    as live_tokens`

/** Returns all people by name; the search looks into names and addresses. */
export async function listPeople(sql: Queryable, page: PageRequest): Promise<Page<Person>> {
  const byName = {
    columns: [sql`lower(u.name)`, sql`u.id`],
    at: (cursor: string) =>
      sql`(select lower(name), id from users where id = ${idOfCursor(cursor)})`,
  }
  const isListed = sql`(${contains(sql, [sql`u.name`, sql`u.email`], page.search)})`
  const [rows, [{ total }]] = await Promise.all([
    sql<Person[]>`
      select ${columns(sql)} from users u where ${isListed} ${keyset(sql, byName, page)}`,
    sql<[{ total: number }]>`select count(*)::int as total from users u where ${isListed}`,
  ])
  return toPage(rows, page, { total, cursorOf: ({ id }) => String(id) })
}

/** Returns a person, if there is one with that id. */
export async function findPerson(sql: Queryable, id: number): Promise<Person | undefined> {
  const [found] = await sql<Person[]>`select ${columns(sql)} from users u where u.id = ${id}`
  return found
}

/** Deletes a person with the sessions and memberships; what the person made stays. */
export async function deletePerson(sql: Queryable, id: number): Promise<boolean> {
  return (await sql`delete from users where id = ${id} returning id`).length > 0
}

/**
 * Runs a change of people. Raises `conflict`, and undoes it, when it leaves the platform without an
 * administrator who may sign in.
 */
export function keepAnAdministrator<Result>(
  sql: Queryable,
  change: (tx: Queryable) => Promise<Result>,
): Promise<Result> {
  return inTransaction(sql, async (tx) => {
    // Two who keep each other out at once do so one after the other.
    await tx`
      select from users where id in (select user_id from user_roles where role = 'platform-admin')
      order by id for update`
    const result = await change(tx)
    const [left] = await tx`
      select from users u join user_roles r on r.user_id = u.id
      where r.role = 'platform-admin' and u.disabled_at is null limit 1`
    if (left) return result
    throw new AppError(
      'conflict',
      'This is the last administrator of the platform. Make another person one first, with the ' +
        'task users:grant.',
    )
  })
}

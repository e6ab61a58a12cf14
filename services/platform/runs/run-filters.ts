import type { Queryable } from '../../shared/postgres/database.ts'
import type { User } from '../people/users.ts'

/** A filter of the list of runs, kept under a name. */
export interface RunFilterEntry {
  readonly id: number
  readonly name: string
  /** The query of the address of the list. */
  readonly query: string
  /** All members of the organization see it. */
  readonly isShared: boolean
}

/** The most filters that a person keeps in an organization, and that all of its members share. */
export const RUN_FILTERS_MAX = 50
/** The longest name, in characters. */
export const RUN_FILTER_NAME_MAX = 80
/** The longest query, in bytes. */
export const RUN_FILTER_QUERY_MAX = 4096

type Owner = Pick<User, 'id' | 'organizationId'>

/** Returns the filters that a person sees: own ones, then shared ones. */
export async function listRunFilters(sql: Queryable, owner: Owner): Promise<RunFilterEntry[]> {
  return sql<RunFilterEntry[]>`
    select id, name, query, is_shared from run_filters
    where ${isOf(sql, owner, false)} or ${isOf(sql, owner, true)}
    order by is_shared, lower(name), id`
}

/** Returns a filter that a person sees; undefined for one of others. */
export async function findRunFilter(
  sql: Queryable,
  owner: Owner,
  { id, isShared }: { readonly id: number; readonly isShared: boolean },
): Promise<RunFilterEntry | undefined> {
  const [found] = await sql<RunFilterEntry[]>`
    select id, name, query, is_shared from run_filters
    where ${isOf(sql, owner, isShared)} and id = ${id}`
  return found
}

/**
 * Keeps a filter, in place of one with the same name. Returns undefined when there are as many as
 * there may be.
 */
export async function saveRunFilter(
  sql: Queryable,
  owner: Owner,
  { name, query, isShared }: Omit<RunFilterEntry, 'id'>,
): Promise<number | undefined> {
  const all = isOf(sql, owner, isShared)
  const key = isShared
    ? sql`(organization_id, name) where is_shared`
    : sql`(organization_id, user_id, name) where not is_shared`
  const [saved] = await sql<{ id: number }[]>`
    insert into run_filters (organization_id, user_id, is_shared, name, query)
    select ${owner.organizationId}, ${owner.id}, ${isShared}, ${name}, ${query}
    where exists (select from run_filters where ${all} and name = ${name})
      or (select count(*) from run_filters where ${all}) < ${RUN_FILTERS_MAX}
    on conflict ${key} do update set query = excluded.query
    returning id`
  return saved?.id
}

/** Deletes a filter of a person, or a shared one of the organization. */
export async function deleteRunFilter(
  sql: Queryable,
  owner: Owner,
  { id, isShared }: { readonly id: number; readonly isShared: boolean },
): Promise<boolean> {
  const { count } = await sql`
    delete from run_filters where ${isOf(sql, owner, isShared)} and id = ${id}`
  return count > 0
}

const isOf = (sql: Queryable, { id, organizationId }: Owner, isShared: boolean) =>
  isShared
    ? sql`(organization_id = ${organizationId} and is_shared)`
    : sql`(organization_id = ${organizationId} and not is_shared and user_id = ${id})`

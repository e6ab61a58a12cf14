import type { Queryable } from '../../shared/postgres/database.ts'
import type { User } from '../people/users.ts'

/** A filter of the list of traces, kept under a name. */
export interface TraceFilter {
  readonly id: number
  readonly name: string
  /** The query of the address of the list. */
  readonly query: string
}

/** The most filters that a person keeps in an organization. */
export const TRACE_FILTERS_MAX = 50
/** The longest name, in characters. */
export const TRACE_FILTER_NAME_MAX = 80

type Owner = Pick<User, 'id' | 'organizationId'>

/** Returns the filters of a person in an organization, by name. */
export async function listTraceFilters(sql: Queryable, owner: Owner): Promise<TraceFilter[]> {
  return sql<TraceFilter[]>`
    select id, name, query from trace_filters where ${isOf(sql, owner)} order by lower(name), id`
}

/** Returns a filter of this person; undefined for one of others. */
export async function findTraceFilter(
  sql: Queryable,
  owner: Owner,
  id: number,
): Promise<TraceFilter | undefined> {
  const [found] = await sql<TraceFilter[]>`
    select id, name, query from trace_filters where ${isOf(sql, owner)} and id = ${id}`
  return found
}

/**
 * Keeps a filter, in place of one with the same name. Returns its id; undefined when there are as
 * many as a person may have.
 */
export async function saveTraceFilter(
  sql: Queryable,
  owner: Owner,
  { name, query }: Omit<TraceFilter, 'id'>,
): Promise<number | undefined> {
  const [saved] = await sql<{ id: number }[]>`
    insert into trace_filters (organization_id, user_id, name, query)
    select ${owner.organizationId}, ${owner.id}, ${name}, ${query}
    where exists (select from trace_filters where ${isOf(sql, owner)} and name = ${name})
      or (select count(*) from trace_filters where ${isOf(sql, owner)}) < ${TRACE_FILTERS_MAX}
    on conflict (user_id, organization_id, name) do update set query = excluded.query
    returning id`
  return saved?.id
}

/** Deletes a filter of this person. Returns false when there is no such one. */
export async function deleteTraceFilter(
  sql: Queryable,
  owner: Owner,
  id: number,
): Promise<boolean> {
  const deleted = await sql`
    delete from trace_filters where ${isOf(sql, owner)} and id = ${id} returning id`
  return deleted.length > 0
}

const isOf = (sql: Queryable, { id, organizationId }: Owner) =>
  sql`user_id = ${id} and organization_id = ${organizationId}`

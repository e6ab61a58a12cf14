import { AppError } from '../shared/errors.ts'
import type { Queryable, Transaction } from '../shared/postgres/database.ts'

/** What a manager may be called. */
export const MANAGER_NAME = /^[\w.:/@-]{1,100}$/
/** The marks of one organization. */
const MARKS_MAX = 50_000

/** Rows of one kind in an organization. */
interface Rows {
  readonly organizationId: number
  readonly kind: string
  readonly ids: readonly (number | string)[]
}

/** Returns what manages rows, by their ids; of those alone that something manages. */
export async function findManagers(
  sql: Queryable,
  { organizationId, kind, ids }: Rows,
): Promise<ReadonlyMap<string, string>> {
  const found = await sql<{ resourceId: string; managedBy: string }[]>`
    select resource_id, managed_by from managed_resources
    where organization_id = ${organizationId} and kind = ${kind}
      and resource_id = any (${ids.map(String)}::text[])`
  return new Map(found.map(({ resourceId, managedBy }) => [resourceId, managedBy]))
}

/** All that one manager keeps in an organization. */
interface ManagedRows {
  readonly organizationId: number
  readonly managedBy: string
  readonly rows: readonly { readonly kind: string; readonly id: string }[]
}

/**
 * Marks these rows as managed, and no others by the same name; what another one managed changes
 * hands. Returns how many marks begin and end. Raises `conflict` when there are too many.
 */
export async function setManaged(
  tx: Transaction,
  { organizationId, managedBy, rows }: ManagedRows,
): Promise<{ readonly begun: number; readonly ended: number }> {
  await tx`select from organizations where id = ${organizationId} for no key update`
  const [counts] = await tx<[{ begun: number; ended: number }]>`
    with wanted as (
        select distinct kind, id
        from unnest(${rows.map(({ kind }) => kind)}::text[], ${rows.map(({ id }) => id)}::text[])
          as given (kind, id)),
      ended as (
        delete from managed_resources m
        where organization_id = ${organizationId} and managed_by = ${managedBy}
          and not exists (select from wanted w where w.kind = m.kind and w.id = m.resource_id)
        returning 1),
      begun as (
        insert into managed_resources as m (organization_id, kind, resource_id, managed_by)
        select ${organizationId}, kind, id, ${managedBy} from wanted
        on conflict (organization_id, kind, resource_id)
          do update set managed_by = excluded.managed_by where m.managed_by <> excluded.managed_by
        returning 1)
    select (select count(*)::int from begun) as begun, (select count(*)::int from ended) as ended`
  const [{ total }] = await tx<[{ total: number }]>`
    select count(*)::int as total from managed_resources where organization_id = ${organizationId}`
  if (total <= MARKS_MAX) return counts
  throw new AppError(
    'conflict',
    `An organization has at most ${MARKS_MAX} managed resources; these would make it ${total}. ` +
      'Apply former files under their names with fewer documents first.',
  )
}

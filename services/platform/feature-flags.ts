import type { Queryable } from '../shared/postgres/database.ts'

/** Every flag that a program reads. */
export const FEATURE_FLAGS = ['k8s_namespace_isolation'] as const

/** The name of a flag. */
export type FeatureFlag = (typeof FEATURE_FLAGS)[number]

/** The value of a flag for an organization or for the platform. */
export interface FlagState {
  readonly name: string
  /** null for the whole platform. */
  readonly organizationId: number | null
  /** Its name. */
  readonly organization: string | null
  readonly enabled: boolean
}

const STATES: Readonly<Record<string, boolean>> = { on: true, off: false }

/** Reads `on` or `off`; returns undefined for any other word. */
export const readFlagState = (word: string): boolean | undefined =>
  Object.hasOwn(STATES, word) ? STATES[word] : undefined

/**
 * Reads a flag for an organization; the platform's own value counts where the organization has
 * none.
 */
export async function isEnabled(
  sql: Queryable,
  name: FeatureFlag,
  organizationId: number,
): Promise<boolean> {
  const [row] = await sql<{ enabled: boolean }[]>`
    select enabled from feature_flags
    where name = ${name} and (organization_id = ${organizationId} or organization_id is null)
    order by organization_id nulls last limit 1`
  return row?.enabled ?? false
}

/** Every flag that was ever switched, the platform's own first. */
export const listFlags = (sql: Queryable) => sql<FlagState[]>`
  select f.name, f.organization_id, o.name as organization, f.enabled from feature_flags f
  left join organizations o on o.id = f.organization_id
  order by f.name, o.name nulls first limit 1000`

/** The flags that an organization has a value of its own for; null: the platform's. */
export type OwnFlags = Readonly<Record<FeatureFlag, boolean | null>>

/** Returns the flags as an organization has them: of all flags, with nulls, and nothing else. */
export const toOwnFlags = (given: Partial<OwnFlags>): OwnFlags => ({
  k8s_namespace_isolation: given.k8s_namespace_isolation ?? null,
})

/** Returns what has the flags of each of these organizations. */
export async function listOwnFlags(
  sql: Queryable,
  organizationIds: readonly number[],
): Promise<(organizationId: number) => OwnFlags> {
  const rows = await sql<{ id: number; name: string; enabled: boolean }[]>`
    select organization_id as id, name, enabled from feature_flags
    where organization_id = any(${organizationIds}::int[])`
  return (organizationId) => {
    const own = rows.filter(({ id }) => id === organizationId)
    return toOwnFlags(Object.fromEntries(own.map(({ name, enabled }) => [name, enabled])))
  }
}

/** Gives an organization the flags, or with nulls takes them back. */
export async function saveOwnFlags(
  sql: Queryable,
  organizationId: number,
  flags: OwnFlags,
): Promise<void> {
  for (const name of FEATURE_FLAGS) {
    const { [name]: enabled } = flags
    if (enabled !== null) await setFlag(sql, { name, organizationId, enabled })
    else {
      await sql`
        delete from feature_flags where name = ${name} and organization_id = ${organizationId}`
    }
  }
}

/** Switches a flag; without an organization, for the whole platform. */
export async function setFlag(
  sql: Queryable,
  flag: { name: FeatureFlag; organizationId: number | null; enabled: boolean },
): Promise<void> {
  await sql`
    insert into feature_flags ${sql({ ...flag })}
    on conflict (name, organization_id) do update set enabled = excluded.enabled`
}

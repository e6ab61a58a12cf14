import type { Queryable } from '../shared/database.ts'

export type FeatureFlag = 'k8s_namespace_isolation'

/** Whether a flag is on for an organization, or for the platform where the organization says nothing. */
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

/** Switches a flag; without an organization, for the whole platform. */
export async function setFlag(
  sql: Queryable,
  flag: { name: FeatureFlag; organizationId: number | null; enabled: boolean },
): Promise<void> {
  await sql`
    insert into feature_flags ${sql({ ...flag })}
    on conflict (name, organization_id) do update set enabled = excluded.enabled`
}

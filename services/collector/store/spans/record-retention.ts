import type { Database } from '../../../shared/postgres/database.ts'
import type { DaysByOrganization } from './days-by-organization.ts'

interface RecordedDays {
  readonly retentionWeeks: number
  readonly hotDays?: number | undefined
  readonly organizationHotDays?: DaysByOrganization
}

/**
 * Writes down how long spans are kept, for the views that hide expired ones, and for how long
 * outside of files, for what archives them.
 */
export async function recordRetention(
  sql: Database,
  { retentionWeeks, hotDays, organizationHotDays = new Map() }: RecordedDays,
): Promise<void> {
  await sql`
    insert into retention (weeks, hot_days)
    values (${Math.ceil(retentionWeeks)}, ${hotDays ?? null})
    on conflict (only_row) do update set weeks = excluded.weeks, hot_days = excluded.hot_days
    where (retention.weeks, retention.hot_days)
      is distinct from (excluded.weeks, excluded.hot_days)`
  await sql`
    with given as (
      select * from unnest(
        ${[...organizationHotDays.keys()]}::text[], ${[...organizationHotDays.values()]}::int[]
      ) as given (organization, days)
    ), removed as (
      delete from organization_hot_days where organization not in (select organization from given)
    )
    insert into organization_hot_days select organization, days from given
    on conflict (organization) do update set days = excluded.days
    where organization_hot_days.days <> excluded.days`
}

import type { Queryable } from '../../shared/postgres/database.ts'
import type { CrewState } from './crew-deployments.ts'

/** How many automations from source there are, by the states of their newest deployments. */
export type CrewCounts = Readonly<Partial<Record<CrewState, number>>>

/** Counts the automations from source by the states of their newest deployments. */
export async function countCrews(sql: Queryable): Promise<CrewCounts> {
  const rows = await sql<{ state: CrewState; count: number }[]>`
    select c.state, count(*)::int as count
    from crew_settings s
      join crew_deployments c on c.deployment_id = s.deployment_id and c.number = s.last_number
    group by c.state`
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

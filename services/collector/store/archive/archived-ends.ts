import type { Queryable } from '../../../shared/postgres/database.ts'

/** Where archived days end, in milliseconds since 1970; -Infinity without any. */
export interface ArchivedEnds {
  ofAll(): number
  /** Of what was archived of an organization before that of others. */
  of(organization: string): number
  /** Whether there are such organizations. */
  hasParts(): boolean
  /** Reads them from the database. */
  refresh(sql: Queryable): Promise<void>
}

/** Knows of no archived days before it is refreshed. */
export function createArchivedEnds(): ArchivedEnds {
  let ofAll = -Infinity
  let parts = new Map<string, number>()
  return {
    ofAll: () => ofAll,
    of: (organization) => parts.get(organization) ?? -Infinity,
    hasParts: () => parts.size > 0,
    async refresh(sql) {
      const rows = await sql<{ organization: string | null; ms: number | null }[]>`
        select null as organization, extract(epoch from max(day) + 1)::float8 * 1000 as ms
        from archived_days where state = 'dropped'
        union all
        select organization, extract(epoch from max(day) + 1)::float8 * 1000
        from archived_parts where state = 'dropped' group by organization`
      const known = new Map(rows.map(({ organization, ms }) => [organization, ms ?? -Infinity]))
      ofAll = known.get(null) ?? -Infinity
      parts = new Map(
        [...known].flatMap(([organization, ms]) =>
          organization === null ? [] : [[organization, ms] as const],
        ),
      )
    },
  }
}

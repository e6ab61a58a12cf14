import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import type { Day } from '../spans/partitions.ts'
import { startOfDay } from '../spans/partitions.ts'

/** Spans of a day that are archived together. */
export interface DayRows {
  readonly day: Day
  /** Those of these organizations, or of all others. */
  readonly organizations: readonly string[]
  readonly isRest: boolean
}

/** The date of a day, in ISO 8601. */
export const dateOf = (day: Day): string => startOfDay(day).slice(0, 10)

/** The condition for these rows, of a table with the column. */
export const ofRows = (
  { organizations, isRest }: Pick<DayRows, 'organizations' | 'isRest'>,
  column = 'organization',
): string =>
  `${column} ${isRest ? '<> all' : '= any'} (array[${organizations.map(quote).join()}]::text[])`

/** What is left of a day that is not archived for all. */
export async function restOf(sql: Queryable, day: Day): Promise<DayRows> {
  const rows = await sql<{ organization: string }[]>`
    select organization from archived_parts
    where day = ${dateOf(day)}::text::date and state = 'dropped' order by organization`
  return { day, organizations: rows.map(({ organization }) => organization), isRest: true }
}

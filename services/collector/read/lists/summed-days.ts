import type { Queryable } from '../../../shared/postgres/database.ts'
import { indexedConditions, requestsCondition } from './filter-sql.ts'
import type { SearchedFilter } from './filter-sql.ts'
import { timestamp } from './sql-parts.ts'
import type { Fragment } from './sql-parts.ts'

/** Those that the sums of a day are kept by. */
const SUMMED_BY: ReadonlySet<string> = new Set(
  ['organization', 'crew', 'service', 'status', 'platform_requests'].concat(['from', 'to']),
)

/** True for a filter that is answered from sums of days. */
export const isSummedUp = (filter: SearchedFilter): boolean =>
  Object.entries(filter).every(([name, value]) => value === undefined || SUMMED_BY.has(name))

/**
 * The days whose sums are in the answer, and the times between them, in which it takes the traces:
 * parts of days, days that have just changed. Two parts of a `with`.
 */
export const daysAndGaps = (sql: Queryable, { from, to }: SearchedFilter): Fragment => sql`
  summed as materialized (
    select day, begins, ends from summed_days
    where true ${from ? sql`and begins >= ${timestamp(sql, from)}` : sql``}
      ${to ? sql`and ends <= ${timestamp(sql, to)}` : sql``}
  ),
  gaps as materialized (
    select * from (
      select days.ends as begins,
        coalesce(lead(days.begins) over (order by days.begins), 'infinity') as ends
      from (
        select begins, ends from summed
        union all select '-infinity', '-infinity'
      ) as days
    ) as times
    where begins < ends
  )`

/** The traces of the filter that no sum has: the end of a `select`. */
export const fromGaps = (sql: Queryable, filter: SearchedFilter): Fragment => sql`
  from gaps cross join lateral (
    select * from listed_traces as traces
    where start_time >= gaps.begins and start_time < gaps.ends and ${indexedConditions(sql, filter)}
    offset 0
  ) as traces`

/** The sums of the filter: the end of a `select`. */
export const fromSums = (sql: Queryable, filter: SearchedFilter): Fragment => {
  const { organization, crew, service, status } = filter
  const columns = { organization, crew_id: crew, service, status }
  return sql`
    from listed_traces_daily join summed using (day)
    where true ${Object.entries(columns).map(([column, value]) =>
      value === undefined ? sql`` : sql`and ${sql(column)} = ${value}`,
    )} ${requestsCondition(sql, filter)}`
}

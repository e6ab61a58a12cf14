import type { Queryable } from '../../../shared/postgres/database.ts'
import type { Position } from './cursor.ts'
import { indexedConditions } from './filter-sql.ts'
import type { SearchedFilter } from './filter-sql.ts'
import type { Fragment } from './sql-parts.ts'

/** The value by which a list is ordered, each with an index of `traces`. */
const SORTS = {
  newest: { key: 'start_time', type: 'timestamptz', direction: 'desc' },
  oldest: { key: 'start_time', type: 'timestamptz', direction: 'asc' },
  duration: { key: 'duration_ns', type: 'int8', direction: 'desc' },
  cost: { key: 'cost_usd', type: 'numeric', direction: 'desc' },
  tokens: { key: '(input_tokens + output_tokens)', type: 'numeric', direction: 'desc' },
} as const

/** The order of a list. */
export type Sort = keyof typeof SORTS

/** Which traces, in which order, behind which place. */
export interface OrderedTraces {
  readonly filter: SearchedFilter
  readonly sort: Sort
  readonly after?: Position | undefined
}

/** True for a list in the order of time. */
export const isTimed = (sort: Sort): boolean => SORTS[sort].type === 'timestamptz'

/** The traces from which a page is taken. */
export const fromNext = (sql: Queryable, query: OrderedTraces): Fragment => sql`
  from listed_traces as traces
  where ${indexedConditions(sql, query.filter)} and ${keyOfSort(sql, query.sort)} is not null
    ${behind(sql, query)}`

/** The value by which a list is ordered. */
export const keyOfSort = (sql: Queryable, sort: Sort): Fragment =>
  sql`${sql.unsafe(SORTS[sort].key)}`

/** The order of a list and, in the same direction, of the rows with the same value. */
export const orderOf = (sql: Queryable, sort: Sort, key: string = SORTS[sort].key): Fragment => {
  const { direction } = SORTS[sort]
  const columns = [key, 'start_time', 'trace_id', 'organization']
  return sql`${sql.unsafe(columns.map((column) => `${column} ${direction}`).join(', '))}`
}

/** `sort_key` as a `Position` has it: of a time without its zone, whatever the session's is. */
export const keyText = (sql: Queryable, sort: Sort): Fragment =>
  isTimed(sort) ? sql`(placed.sort_key at time zone 'UTC')::text` : sql`placed.sort_key::text`

function behind(sql: Queryable, { sort, after }: OrderedTraces): Fragment {
  if (!after) return sql``
  const { key, type, direction } = SORTS[sort]
  const isBehind = sql.unsafe(direction === 'desc' ? '<' : '>')
  const place = sql`${`${after.startTime}Z`}::text::timestamptz, ${after.traceId}::text::uuid,
    ${after.organization}::text`
  if (isTimed(sort)) return sql`and (start_time, trace_id, organization) ${isBehind} (${place})`
  const value = sql`${after.sortKey}::text::${sql.unsafe(type)}`
  return sql`
    and (${sql.unsafe(key)}, start_time, trace_id, organization) ${isBehind} (${value}, ${place})`
}

import { beginningOf } from '../../../shared/query-terms.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { platformService } from '../../../shared/tracing/platform-service.ts'
import { TERM_KINDS, toTerm } from '../../store/roll-ups/terms.ts'
import { hasAttribute } from '../../store/spans/attribute-condition.ts'
import { timestamp } from './sql-parts.ts'
import type { Fragment } from './sql-parts.ts'
import type { Attribute, TraceFilter } from './trace-filter.ts'

/** Traces by their organizations and ids. */
export interface KnownTraces {
  readonly organizations: readonly string[]
  readonly traceIds: readonly string[]
}

/** A filter whose text was looked for, and its attribute where a condition cannot do that. */
export type SearchedFilter = TraceFilter & {
  readonly found?: KnownTraces | undefined
  readonly holders?: KnownTraces | undefined
  /** Those that have the attribute in archived days. */
  readonly archived?: KnownTraces | undefined
}

/** What an index finds: the conditions for rows of `listed_traces as traces`. */
export function indexedConditions(sql: Queryable, filter: SearchedFilter): Fragment {
  const { crew, kickoff, session, user, organization, status, from, to } = filter
  const columns = { crew_id: crew, kickoff_id: kickoff, session_id: session, user_id: user }
  return sql`
    true ${Object.entries({ ...columns, organization, status }).map(([column, value]) =>
      value === undefined ? sql`` : sql`and ${sql(`traces.${column}`)} = ${value}`,
    )}
    ${from ? sql`and start_time >= ${timestamp(sql, from)}` : sql``}
    ${to ? sql`and start_time < ${timestamp(sql, to)}` : sql``}
    ${filter.trace ? sql`and traces.trace_id = any (${filter.trace}::text[]::uuid[])` : sql``}
    ${filter.found ? sql`and ${isFound(sql, filter.found)}` : sql``}
    ${requestsCondition(sql, filter)} ${withTerms(sql, filter)}`
}

/** In the words of an index, which is used for no others. */
const NO_REQUEST = `and service is distinct from '${platformService('web')}'`

/** Leaves requests to the platform itself out, of `traces` or of the sums of days, if asked to. */
export const requestsCondition = (
  sql: Queryable,
  { platform_requests: requests }: SearchedFilter,
): Fragment => (requests === 'hidden' ? sql`${sql.unsafe(NO_REQUEST)}` : sql``)

function withTerms(sql: Queryable, filter: SearchedFilter): Fragment {
  const terms = TERM_KINDS.flatMap((kind) => {
    const word = filter[kind]
    return word === undefined || beginningOf(word) !== undefined ? [] : [toTerm(kind, word)]
  })
  return terms.length > 0 ? sql`and terms @> ${terms}::text[]` : sql``
}

/** The beginnings of terms that a filter asks for, by kind; the index knows whole terms. */
const beginningsIn = (filter: SearchedFilter): (string | undefined)[] =>
  TERM_KINDS.map((kind) => {
    const beginning = beginningOf(filter[kind] ?? '')
    return beginning === undefined ? undefined : toTerm(kind, beginning)
  })

/** True for a filter that has more than an index finds. */
export const hasOtherConditions = (filter: SearchedFilter): boolean =>
  MEASURED.some(({ least, most }) => (filter[least] ?? filter[most]) !== undefined) ||
  beginningsIn(filter).some(Boolean) ||
  needsLookUps(filter)

/** True for a filter whose conditions are looked up in other tables. */
export const needsLookUps = ({ attribute }: SearchedFilter): boolean => attribute !== undefined

/** The other conditions: each row of `traces` has to be looked at, and some of its spans. */
export function otherConditions(sql: Queryable, filter: SearchedFilter): Fragment {
  const ranges = MEASURED.flatMap(({ value, type, least, most, factor }) => {
    const expression = sql.unsafe(value)
    const bound = (given: string | number) =>
      sql`${String(given)}::text::${sql.unsafe(type)} * ${sql.unsafe(factor)}`
    const [low, high] = [filter[least], filter[most]]
    return [
      low === undefined ? sql`` : sql`and coalesce(${expression} >= ${bound(low)}, false)`,
      high === undefined ? sql`` : sql`and coalesce(${expression} <= ${bound(high)}, false)`,
    ]
  })
  const beginnings = beginningsIn(filter).map((term) =>
    term === undefined
      ? sql``
      : sql`and exists (select from unnest(terms) t (term) where starts_with(t.term, ${term}))`,
  )
  return sql`true ${ranges} ${beginnings} ${withAttribute(sql, filter)}`
}

function withAttribute(sql: Queryable, { attribute, holders, archived }: SearchedFilter): Fragment {
  if (holders) return sql`and ${isFound(sql, holders)}`
  if (!attribute) return sql``
  const isArchived = archived ? sql`or ${isFound(sql, archived)}` : sql``
  return sql`and (${hasSpanWith(sql, attribute)} ${isArchived})`
}

/** Numbers of a trace; a trace without the number is in no range. */
const MEASURED = [
  {
    least: 'min_duration_ms',
    most: 'max_duration_ms',
    value: 'duration_ns',
    type: 'int8',
    factor: '1000000',
  },
  {
    least: 'min_tokens',
    most: 'max_tokens',
    value: '(input_tokens + output_tokens)',
    type: 'numeric',
    factor: '1',
  },
  {
    least: 'min_cost_usd',
    most: 'max_cost_usd',
    value: 'cost_usd',
    type: 'numeric',
    factor: '1',
  },
] as const

/**
 * One of its spans, or what sent it, has the attribute, as a text, a number or a boolean. Spans are
 * looked up by trace, in the days that the trace has. The `between` keeps the planner to the index
 * on the trace id in a day that nobody has analyzed.
 */
const hasSpanWith = (sql: Queryable, { key, value }: Attribute): Fragment => sql`
  exists (
    select from spans
    where spans.trace_id = traces.trace_id
      and spans.trace_id between traces.trace_id and traces.trace_id
      and spans.organization = traces.organization
      and spans.start_time between traces.first_start and traces.last_start
      and (
        ${hasAttribute(sql, 'spans', { key, value })}
        or spans.resource_id in (
          select id from resources where resources.attributes ->> ${key}::text = ${value}
        )
      )
  )`

/** The trace is one of those that were found. */
const isFound = (sql: Queryable, { organizations, traceIds }: KnownTraces): Fragment => sql`
  (organization, trace_id) in (
    select * from unnest(${organizations}::text[], ${traceIds}::text[]::uuid[])
  )`

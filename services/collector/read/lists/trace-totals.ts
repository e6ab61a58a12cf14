import * as v from 'valibot'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { COST_COLUMNS } from '../../roll-ups/measures.ts'
import { COUNT_COLUMNS, DURATION_RANGE } from '../../roll-ups/trace-days.ts'
import { readParameters } from '../read-query.ts'
import type { Reader } from '../reader.ts'
import { search } from './found-attributes.ts'
import type { SearchedFilter } from './found-texts.ts'
import { indexedConditions, otherConditions } from './filter-sql.ts'
import { inRange, tokensOf } from './listed-trace.ts'
import type { ListedTrace, TokenCounts } from './listed-trace.ts'
import { doublingBucket, quantilesOf } from './quantiles.ts'
import type { Quantiles } from './quantiles.ts'
import type { Fragment } from './sql-parts.ts'
import { daysAndGaps, fromGaps, fromSums, isSummedUp } from './summed-days.ts'
import { filterParameters, limitTo, requireRanges, STATUSES } from './trace-filter.ts'
import type { TraceFilter } from './trace-filter.ts'

/** What the traces of a filter add up to. */
export interface TraceTotals extends Costs {
  readonly traces: number
  /** How many have each status. */
  readonly ok: number
  readonly error: number
  readonly running: number
  readonly incomplete: number
  readonly spans: number
  readonly error_spans: number
  readonly llm_calls: number
  readonly tokens: ListedTrace['tokens']
  /** Of traces that have ended, to 5 %. */
  readonly duration_ms: Quantiles
}

interface Costs {
  /** Null where the cost of no trace is known. */
  readonly cost_usd: number | null
  readonly reported_cost_usd: number | null
  readonly computed_cost_usd: number | null
}

/** Reads the parameters of a filter alone. Raises `invalid_request`. */
export function readTotalsQuery(parameters: URLSearchParams): TraceFilter {
  const filter = readParameters(v.object(filterParameters), parameters)
  requireRanges(filter, parameters)
  return filter
}

/** The totals of the traces that a list with this filter has, on all of its pages. */
export async function totalTraces(reader: Reader, filter: TraceFilter): Promise<TraceTotals> {
  const [row] = await reader.ask(async (sql) =>
    findTotals(sql, await search(sql, limitTo(reader, filter))),
  )
  if (!row) throw new Error('Sums without groups have one row.')
  const ended = row.ranges ?? []
  return {
    traces: row.traces,
    ok: row.ok,
    error: row.error,
    running: row.running,
    incomplete: row.incomplete,
    spans: row.spans,
    error_spans: row.errorSpans,
    llm_calls: row.llmCalls,
    tokens: tokensOf(row),
    cost_usd: row.costUsd,
    reported_cost_usd: row.reportedCostUsd,
    computed_cost_usd: row.computedCostUsd,
    duration_ms: quantilesOf(ended.map((range, i) => doublingBucket(range, row.counts?.[i] ?? 0))),
  }
}

interface Row extends TokenCounts {
  readonly traces: number
  readonly ok: number
  readonly error: number
  readonly running: number
  readonly incomplete: number
  readonly spans: number
  readonly errorSpans: number
  readonly llmCalls: number
  readonly costUsd: number | null
  readonly reportedCostUsd: number | null
  readonly computedCostUsd: number | null
  /** Numbers of ranges of durations, and how many traces each has. */
  readonly ranges: number[] | null
  readonly counts: number[] | null
}

const SUMS = [...COUNT_COLUMNS, ...COST_COLUMNS]
  .map((column) => `sum(${column}) as ${column}`)
  .join(', ')
const SHOWN = [
  ...STATUSES.map(
    (status) => `coalesce(sum(traces) filter (where status = '${status}'), 0)::float8
    as ${status}`,
  ),
  ...COUNT_COLUMNS.map((column) => `coalesce(sum(${column}), 0)::float8 as ${column}`),
  ...COST_COLUMNS.map((column) => `${inRange(`sum(${column})`)} as ${column}`),
].join(', ')

/** In groups by status and duration first: there are some hundreds, however many traces. */
const findTotals = (sql: Queryable, filter: SearchedFilter): Promise<Row[]> => sql<Row[]>`
  with ${isSummedUp(filter) ? summedGroups(sql, filter) : scannedGroups(sql, filter)}
  select coalesce(sum(traces), 0)::float8 as traces, ${sql.unsafe(SHOWN)},
    (select array_agg(range order by range) from durations) as ranges,
    (select array_agg(traces::int order by range) from durations) as counts
  from groups`

const grouped = (sql: Queryable, from: Fragment): Fragment => sql`
  select status, ${sql.unsafe(DURATION_RANGE)} as range, count(*) as traces, ${sql.unsafe(SUMS)}
  ${from} group by 1, 2`

const scannedGroups = (sql: Queryable, filter: SearchedFilter): Fragment => {
  const from: Fragment = sql`
    from listed_traces as traces
    where ${indexedConditions(sql, filter)} and ${otherConditions(sql, filter)}`
  return sql`
    groups as materialized (${grouped(sql, from)}),
    durations as (
      select range, sum(traces) as traces from groups where range is not null group by range
    )`
}

/** What the days add up to has no range: how many traces each one has comes with it. */
const summedGroups = (sql: Queryable, filter: SearchedFilter): Fragment => sql`
  ${daysAndGaps(sql, filter)},
  groups as materialized (
    ${grouped(sql, fromGaps(sql, filter))}
    union all
    select status, null, sum(traces), ${sql.unsafe(SUMS)} ${fromSums(sql, filter)} group by status
  ),
  durations as (
    select range, sum(traces) as traces from (
      select range, traces from groups where range is not null
      union all
      select unnest(ranges) as range, unnest(counts) as traces ${fromSums(sql, filter)}
    ) as counted
    group by range
  )`

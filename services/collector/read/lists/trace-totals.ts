import * as v from 'valibot'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { COST_COLUMNS, TOKEN_COLUMNS } from '../../roll-ups/measures.ts'
import { readParameters } from '../read-query.ts'
import type { Reader } from '../reader.ts'
import { search } from './found-attributes.ts'
import type { SearchedFilter } from './found-texts.ts'
import { indexedConditions, otherConditions } from './filter-sql.ts'
import { inRange, tokensOf } from './listed-trace.ts'
import type { ListedTrace, TokenCounts } from './listed-trace.ts'
import { BUCKETS_PER_DOUBLING, doublingBucket, quantilesOf } from './quantiles.ts'
import type { Quantiles } from './quantiles.ts'
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
  const ended = row.buckets ?? []
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
    duration_ms: quantilesOf(
      ended.map((bucket, i) => doublingBucket(bucket, row.counts?.[i] ?? 0)),
    ),
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
  /** Numbers of buckets of durations, and how many traces each has. */
  readonly buckets: number[] | null
  readonly counts: number[] | null
}

const COUNTS = ['spans', 'error_spans', 'llm_calls', ...TOKEN_COLUMNS]
const SUMS = [...COUNTS, ...COST_COLUMNS].map((column) => `sum(${column}) as ${column}`).join(', ')
const SHOWN = [
  ...STATUSES.map(
    (status) => `coalesce(sum(traces) filter (where status = '${status}'), 0)::float8
    as ${status}`,
  ),
  ...COUNTS.map((column) => `coalesce(sum(${column}), 0)::float8 as ${column}`),
  ...COST_COLUMNS.map((column) => `${inRange(`sum(${column})`)} as ${column}`),
].join(', ')
const BUCKET = `floor(
  ln(greatest(duration_ns, 1)::float8 / 1000000) * ${BUCKETS_PER_DOUBLING / Math.LN2}
)::int`

/** In groups by status and duration first: there are some hundreds, however many traces. */
const findTotals = (sql: Queryable, filter: SearchedFilter): Promise<Row[]> => sql<Row[]>`
  with groups as materialized (
    select status, ${sql.unsafe(BUCKET)} as bucket, count(*) as traces, ${sql.unsafe(SUMS)}
    from listed_traces as traces
    where ${indexedConditions(sql, filter)} and ${otherConditions(sql, filter)}
    group by 1, 2
  )
  select coalesce(sum(traces), 0)::float8 as traces, ${sql.unsafe(SHOWN)},
    array_agg(bucket) filter (where bucket is not null) as buckets,
    array_agg(traces::int) filter (where bucket is not null) as counts
  from groups`

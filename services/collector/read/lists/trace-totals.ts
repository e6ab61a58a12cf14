import * as v from 'valibot'
import { oneOf } from '../../../shared/schemas.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { TRACE_STATUSES } from '../../../shared/trace-answers/lists.ts'
import type { GroupedTotals, TraceTotals } from '../../../shared/trace-answers/lists.ts'
import { COST_COLUMNS } from '../../store/roll-ups/measures.ts'
import { COUNT_COLUMNS, DURATION_RANGE } from '../../store/roll-ups/trace-days.ts'
import { readParameters } from '../read-query.ts'
import type { Reader } from '../reader.ts'
import { search } from './found-attributes.ts'
import type { SearchedFilter } from './filter-sql.ts'
import { indexedConditions, otherConditions } from './filter-sql.ts'
import { inRange, sumsOf } from './listed-trace.ts'
import type { Sums } from './listed-trace.ts'
import { doublingBucket, quantilesOf } from './quantiles.ts'
import type { Fragment } from './sql-parts.ts'
import { daysAndGaps, fromGaps, fromSums, isSummedUp } from './summed-days.ts'
import { filterParameters, limitTo, requireRanges } from './trace-filter.ts'
import type { TraceFilter } from './trace-filter.ts'

/**
 * By what traces are grouped, in SQL: over `traces`, and over the sums of days where these tell it.
 * Days are those of UTC.
 */
const GROUPS = {
  day: { ofTrace: `to_char(start_time at time zone 'UTC', 'YYYY-MM-DD')`, ofSum: 'day::text' },
  crew: { ofTrace: `coalesce(crew_id, '')`, ofSum: 'crew_id' },
  user: { ofTrace: 'user_id', ofSum: undefined },
} as const
const GROUP_NAMES = ['day', 'crew', 'user'] as const

type Group = (typeof GROUP_NAMES)[number]

/** Groups at the most; those with the most traces are shown. */
const MAX_GROUPS = 1000

/** Which traces are summed up, and in which groups, if in any. */
interface TotalsQuery {
  readonly filter: TraceFilter
  readonly by?: Group | undefined
}

const totalsParameters = v.object({ ...filterParameters, by: v.optional(oneOf(GROUP_NAMES)) })

/** Reads the parameters of a filter, and of its groups. Raises `invalid_request`. */
export function readTotalsQuery(parameters: URLSearchParams): TotalsQuery {
  const { by, ...filter } = readParameters(totalsParameters, parameters)
  requireRanges(filter, parameters)
  return { filter, by }
}

/** The totals of the traces that a list with this filter has, on all of its pages. */
export async function totalTraces(reader: Reader, filter: TraceFilter): Promise<TraceTotals> {
  const [row] = await askTotals(reader, filter)
  if (!row) throw new Error('Sums without groups have one row.')
  return toTotals(row)
}

/**
 * The same of each group: days in their order, others by their traces, the most first. Traces
 * without a user are in no group of users.
 */
export async function totalGroups(
  reader: Reader,
  filter: TraceFilter,
  by: Group,
): Promise<GroupedTotals> {
  const rows = await askTotals(reader, filter, by)
  const groups = rows.slice(0, MAX_GROUPS).map((row) => ({ [by]: row.key, ...toTotals(row) }))
  return { groups, truncated: rows.length > MAX_GROUPS }
}

const askTotals = (reader: Reader, filter: TraceFilter, by?: Group): Promise<Row[]> =>
  reader.ask(async (sql) =>
    findTotals(sql, { filter: await search(sql, limitTo(reader, filter), reader.cold), by }),
  )

function toTotals(row: Row): TraceTotals {
  const ended = row.ranges ?? []
  return {
    traces: row.traces,
    ok: row.ok,
    error: row.error,
    running: row.running,
    incomplete: row.incomplete,
    ...sumsOf(row),
    duration_ms: quantilesOf(ended.map((range, i) => doublingBucket(range, row.counts?.[i] ?? 0))),
  }
}

interface Row extends Sums {
  /** Of the group; empty without groups. */
  readonly key: string
  readonly traces: number
  readonly ok: number
  readonly error: number
  readonly running: number
  readonly incomplete: number
  /** Numbers of ranges of durations, and how many traces each has. */
  readonly ranges: number[] | null
  readonly counts: number[] | null
}

const SUMS = [...COUNT_COLUMNS, ...COST_COLUMNS]
  .map((column) => `sum(${column}) as ${column}`)
  .join(', ')
const SHOWN = [
  ...TRACE_STATUSES.map(
    (status) => `coalesce(sum(traces) filter (where status = '${status}'), 0)::float8
    as ${status}`,
  ),
  ...COUNT_COLUMNS.map((column) => `coalesce(sum(${column}), 0)::float8 as ${column}`),
  ...COST_COLUMNS.map((column) => `${inRange(`sum(${column})`)} as ${column}`),
].join(', ')

interface Question {
  readonly filter: SearchedFilter
  readonly by: Group | undefined
}

/** In groups by status and duration first: there are some hundreds, however many traces. */
const findTotals = (sql: Queryable, { filter, by }: Question): Promise<Row[]> => sql<Row[]>`
  with ${groupsOf(sql, { filter, by })},
  ranges as (
    select key, array_agg(range order by range) as ranges,
      array_agg(traces::int order by range) as counts
    from durations group by key
  ),
  totals as (
    select ${by ? sql`key` : sql`''::text as key`},
      coalesce(sum(traces), 0)::float8 as traces, ${sql.unsafe(SHOWN)}
    from groups ${by ? sql`group by key` : sql``}
  )
  select * from totals left join ranges using (key)
  order by ${by === 'day' ? sql`key` : sql`traces desc, key`} limit ${MAX_GROUPS + 1}`

function groupsOf(sql: Queryable, question: Question): Fragment {
  const { filter, by } = question
  const isInSums = isSummedUp(filter) && (by === undefined || GROUPS[by].ofSum !== undefined)
  return isInSums ? summedGroups(sql, question) : scannedGroups(sql, question)
}

const keyOf = (sql: Queryable, by: Group | undefined, of: 'ofTrace' | 'ofSum'): Fragment =>
  sql`${sql.unsafe((by && GROUPS[by][of]) ?? `''::text`)} as key`

const grouped = (sql: Queryable, by: Group | undefined, from: Fragment): Fragment => sql`
  select ${keyOf(sql, by, 'ofTrace')}, status, ${sql.unsafe(DURATION_RANGE)} as range,
    count(*) as traces, ${sql.unsafe(SUMS)}
  ${from} group by 1, 2, 3`

const scannedGroups = (sql: Queryable, { filter, by }: Question): Fragment => {
  const from: Fragment = sql`
    from listed_traces as traces
    where ${indexedConditions(sql, filter)} and ${otherConditions(sql, filter)}
      ${by === 'user' ? sql`and user_id is not null` : sql``}`
  return sql`
    groups as materialized (${grouped(sql, by, from)}),
    durations as (
      select key, range, sum(traces) as traces from groups
      where range is not null group by key, range
    )`
}

/** What the days add up to has no range: how many traces each one has comes with it. */
const summedGroups = (sql: Queryable, { filter, by }: Question): Fragment => sql`
  ${daysAndGaps(sql, filter)},
  groups as materialized (
    ${grouped(sql, by, fromGaps(sql, filter))}
    union all
    select ${keyOf(sql, by, 'ofSum')}, status, null, sum(traces), ${sql.unsafe(SUMS)}
    ${fromSums(sql, filter)} group by 1, 2
  ),
  durations as (
    select key, range, sum(traces) as traces from (
      select key, range, traces from groups where range is not null
      union all
      select ${keyOf(sql, by, 'ofSum')}, unnest(ranges) as range, unnest(counts) as traces
      ${fromSums(sql, filter)}
    ) as counted
    group by key, range
  )`

import * as v from 'valibot'
import { oneOf } from '../../../shared/schemas.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { HISTOGRAM_INTERVALS } from '../../../shared/trace-answers/lists.ts'
import type { TraceHistogram } from '../../../shared/trace-answers/lists.ts'
import { invalid, readParameters } from '../read-query.ts'
import type { Reader } from '../reader.ts'
import { search } from './found-attributes.ts'
import type { SearchedFilter } from './filter-sql.ts'
import { indexedConditions, otherConditions } from './filter-sql.ts'
import type { Fragment } from './sql-parts.ts'
import { daysAndGaps, fromGaps, fromSums, isSummedUp } from './summed-days.ts'
import { filterParameters, limitTo, requireRanges } from './trace-filter.ts'
import type { TraceFilter } from './trace-filter.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const INTERVALS_MS = {
  '1m': MINUTE_MS,
  '5m': 5 * MINUTE_MS,
  '15m': 15 * MINUTE_MS,
  '1h': HOUR_MS,
  '6h': 6 * HOUR_MS,
  '1d': DAY_MS,
  '7d': 7 * DAY_MS,
} as const

type Interval = keyof typeof INTERVALS_MS

/** An interval that is not given is the shortest with at most this many buckets. */
const USUAL_BUCKETS = 120
const MAX_BUCKETS = 2000
/** A Monday, for weeks. */
const ORIGIN = '2001-01-01T00:00:00Z'

const histogramParameters = v.object({
  ...filterParameters,
  interval: v.optional(oneOf(HISTOGRAM_INTERVALS)),
})

interface HistogramQuery {
  readonly filter: TraceFilter
  readonly interval?: Interval | undefined
}

/** Raises `invalid_request`. */
export function readHistogramQuery(parameters: URLSearchParams): HistogramQuery {
  const { interval, ...filter } = readParameters(histogramParameters, parameters)
  requireRanges(filter, parameters)
  return { filter, interval }
}

/** Counts the traces of a filter by time and status, in UTC. */
export async function countByTime(reader: Reader, query: HistogramQuery): Promise<TraceHistogram> {
  const filter = limitTo(reader, query.filter)
  return reader.ask(async (sql) => {
    const [kept] = await sql<{ weeks: number }[]>`select weeks from retention`
    const oldest = Date.now() - (kept?.weeks ?? 1) * INTERVALS_MS['7d']
    const begins = Math.max(filter.from?.getTime() ?? oldest, oldest)
    const ends = Math.max(filter.to?.getTime() ?? Date.now() + DAY_MS, begins)
    // The longest one has as many buckets as the retention has weeks.
    const interval =
      query.interval ??
      HISTOGRAM_INTERVALS.find((word) => ends - begins <= INTERVALS_MS[word] * USUAL_BUCKETS) ??
      '7d'
    if (query.interval) requireFewBuckets(interval, ends - begins)
    return {
      interval,
      buckets: [...(await listBuckets(sql, await search(sql, filter, reader.cold), interval))],
    }
  })
}

function requireFewBuckets(interval: Interval, ms: number): void {
  if (ms <= INTERVALS_MS[interval] * MAX_BUCKETS) return
  const message =
    `interval ${interval} would make more than ${MAX_BUCKETS} buckets; ` +
    'take a longer one, or a shorter time with from and to.'
  throw invalid('interval', message)
}

const listBuckets = (sql: Queryable, filter: SearchedFilter, interval: Interval) => {
  const isSummed = isSummedUp(filter) && INTERVALS_MS[interval] >= HOUR_MS
  const question = { filter, intervalMs: INTERVALS_MS[interval] }
  return sql<TraceHistogram['buckets'][number][]>`
    with ${isSummed ? summedCounts(sql, question) : scannedCounts(sql, question)}
    select to_char(bucket at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as from,
      sum(traces)::float8 as traces,
      coalesce(sum(traces) filter (where status = 'ok'), 0)::float8 as ok,
      coalesce(sum(traces) filter (where status = 'error'), 0)::float8 as error,
      coalesce(sum(traces) filter (where status = 'running'), 0)::float8 as running,
      coalesce(sum(traces) filter (where status = 'incomplete'), 0)::float8 as incomplete
    from counted group by bucket order by bucket`
}

interface Question {
  readonly filter: SearchedFilter
  readonly intervalMs: number
}

const bin = (sql: Queryable, time: string, { intervalMs }: Question): Fragment => sql`
  date_bin(
    ${intervalMs / 1000}::float8 * interval '1 second', ${sql.unsafe(time)},
    ${ORIGIN}::text::timestamptz
  ) as bucket`

const counted = (sql: Queryable, question: Question, from: Fragment): Fragment => sql`
  select ${bin(sql, 'start_time', question)}, status, count(*) as traces ${from} group by 1, 2`

const scannedCounts = (sql: Queryable, question: Question): Fragment => {
  const { filter } = question
  const from: Fragment = sql`
    from listed_traces as traces
    where ${indexedConditions(sql, filter)} and ${otherConditions(sql, filter)}`
  return sql`counted as (${counted(sql, question, from)})`
}

/** Days are those of UTC, and so are the buckets: each hour of a day is in one of them. */
const summedCounts = (sql: Queryable, question: Question): Fragment => {
  const { filter, intervalMs } = question
  const parts: Fragment =
    intervalMs < DAY_MS
      ? sql`begins, generate_series(0, 23) as hour, status, unnest(hours) as traces`
      : sql`begins, 0 as hour, status, traces`
  return sql`
    ${daysAndGaps(sql, filter)},
    counted as (
      ${counted(sql, question, fromGaps(sql, filter))}
      union all
      select ${bin(sql, "begins + hour * interval '1 hour'", question)}, status,
        sum(traces) as traces
      from (select ${parts} ${fromSums(sql, filter)}) as parts
      where traces > 0 group by 1, 2
    )`
}

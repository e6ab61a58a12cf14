import type { Queryable } from '../../shared/postgres/database.ts'
import { toCursor } from './cursor.ts'
import type { Position } from './cursor.ts'
import type { TraceQuery } from './read-query.ts'
import type { Reader } from './reader.ts'
import { toListedTrace } from './listed-trace.ts'
import type { ListedTrace, TraceRow } from './listed-trace.ts'

/** A page of traces, and where the next one begins. */
export interface TracePage {
  readonly traces: readonly ListedTrace[]
  /** Null at the end. A page with fewer traces than asked for, even with none, is not the end. */
  readonly next_cursor: string | null
}

/** Traces looked at for one page at the most, when some filter has no index. */
const MAX_SCANNED = 2000

/**
 * One page of the traces, the latest start first; it costs the same however many there are. The
 * order is that of the start of the root, which never changes, so pages neither repeat nor skip
 * such a trace while spans arrive. A trace without a root stands where its first span starts.
 */
export async function listTraces(
  reader: Pick<Reader, 'ask'>,
  query: TraceQuery,
): Promise<TracePage> {
  const { limit } = query
  const isScan = query.model !== undefined || query.minDurationMs !== undefined
  const size = isScan ? MAX_SCANNED : limit + 1
  const rows = await reader.ask((sql) => listRows(sql, query, size))
  const matching = rows.filter(({ matches }) => matches)
  const shown = matching.slice(0, limit)
  const hasMore = matching.length > limit || rows.at(-1)?.place === size
  const last = matching.length < limit ? rows.at(-1) : shown.at(-1)
  return { traces: shown.map(toListedTrace), next_cursor: hasMore && last ? toCursor(last) : null }
}

interface Row extends TraceRow, Position {
  readonly matches: boolean
  /** Among those looked at, from 1. */
  readonly place: number
}

/**
 * Of the next traces that fit the filters that have an index, those that fit the others too, and
 * the last one.
 */
function listRows(sql: Queryable, query: TraceQuery, size: number): Promise<Row[]> {
  return sql<Row[]>`
    with looked_at as (
      select *, ${matchesOf(sql, query)} as matches
      from live_traces as trace
      where true ${conditionsOf(sql, query)}
      order by trace.start_time desc, trace_id desc limit ${size}
    ),
    placed as (
      select *, row_number() over (order by start_time desc, trace_id desc)::int as place,
        count(*) over () as total
      from looked_at
    )
    select matches, place, ${shownColumns(sql)}
    from placed where matches or place = total order by place`
}

function conditionsOf(sql: Queryable, query: TraceQuery) {
  const { crew, kickoff, status, from, to, after } = query
  return sql`
    ${crew === undefined ? sql`` : sql`and crew_id = ${crew}`}
    ${kickoff === undefined ? sql`` : sql`and kickoff_id = ${kickoff}`}
    ${status === undefined ? sql`` : sql`and status = ${status}`}
    ${from ? sql`and start_time >= ${from.toISOString()}::text::timestamptz` : sql``}
    ${to ? sql`and start_time < ${to.toISOString()}::text::timestamptz` : sql``}
    ${
      after
        ? sql`and (start_time, trace_id)
            < (${`${after.startTime}Z`}::text::timestamptz, ${after.traceId}::text::uuid)`
        : sql``
    }`
}

function matchesOf(sql: Queryable, { model, minDurationMs }: TraceQuery) {
  const isLong =
    minDurationMs === undefined
      ? sql`true`
      : sql`coalesce(duration_ns >= ${minDurationMs}::int8 * 1000000, false)`
  return model === undefined ? isLong : sql`${isLong} and ${model} = any (models)`
}

const shownColumns = (sql: Queryable) => sql`
  trace_id, (start_time at time zone 'UTC')::text as start_time, start_ns,
  (extract(epoch from start_time) * 1000000)::int8 as start_us, root_span_id,
  (extract(epoch from end_time) * 1000)::float8 as end_ms,
  name, status, duration_ns, service, nullif(organization, '') as organization, crew_id, kickoff_id,
  session_id, user_id,
  agents, models, spans::float8 as spans, error_spans::float8 as error_spans,
  llm_calls::float8 as llm_calls, input_tokens::float8 as input_tokens,
  output_tokens::float8 as output_tokens, cache_read_tokens::float8 as cache_read_tokens,
  cache_write_tokens::float8 as cache_write_tokens, reasoning_tokens::float8 as reasoning_tokens,
  audio_input_tokens::float8 as audio_input_tokens,
  audio_output_tokens::float8 as audio_output_tokens,
  cost_usd::float8 as cost_usd, reported_cost_usd::float8 as reported_cost_usd,
  computed_cost_usd::float8 as computed_cost_usd`

import * as v from 'valibot'
import { integer } from '../../../shared/env.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import type { ListedTrace, SessionPage } from '../../../shared/trace-answers/lists.ts'
import { TOKEN_COLUMNS } from '../../store/roll-ups/measures.ts'
import { name, readParameters, time } from '../read-query.ts'
import type { Reader } from '../reader.ts'
import { invalidCursor, readCursor, toCursor } from './cursor.ts'
import type { Position } from './cursor.ts'
import { indexedConditions } from './filter-sql.ts'
import { inRange, tokensOf } from './listed-trace.ts'
import type { TokenCounts } from './listed-trace.ts'
import { limitTo, requireTimeRange } from './trace-filter.ts'
import type { OfOrganization } from './trace-filter.ts'

const MAX_LIMIT = 200
const SORT = 'session'

/** They hold for the latest trace of a session. */
const sessionParameters = v.object({
  crew: v.optional(name),
  user: v.optional(name),
  from: v.optional(time),
  to: v.optional(time),
  limit: v.optional(integer(1, MAX_LIMIT), '50'),
  cursor: v.optional(v.pipe(v.string(), v.transform(readCursor))),
})

type SessionQuery = Readonly<v.InferOutput<typeof sessionParameters>> & OfOrganization

/** Raises `invalid_request`. */
export function readSessionQuery(parameters: URLSearchParams): SessionQuery {
  const query = readParameters(sessionParameters, parameters)
  requireTimeRange(query, parameters)
  if (query.cursor && query.cursor.sort !== SORT) throw invalidCursor()
  return query
}

/** The bounds of one page. */
interface PageLimits {
  /** Traces looked at for those that are the latest of their session. */
  readonly scanned: number
  /** Traces of one session that are summed up. */
  readonly traces: number
}

const LIMITS: PageLimits = { scanned: 5000, traces: 1000 }

/**
 * One page of the sessions, the one whose latest trace started last first. A session that goes on
 * meanwhile moves to the beginning, ahead of a page that was read before.
 */
export async function listSessions(
  reader: Reader,
  query: SessionQuery,
  limits = LIMITS,
): Promise<SessionPage> {
  const rows = await reader.ask((sql) => listRows(sql, limitTo(reader, query), limits))
  const matching = rows.filter(({ matches }) => matches)
  const shown = matching.slice(0, query.limit)
  const hasMore = matching.length > query.limit || rows.at(-1)?.place === limits.scanned
  const last = matching.length < query.limit ? rows.at(-1) : shown.at(-1)
  return {
    sessions: shown.map((row) => toSession(row, limits)),
    next_cursor: hasMore && last ? toCursor(positionOf(last)) : null,
  }
}

interface Row extends TokenCounts {
  readonly matches: boolean
  readonly place: number
  readonly startTime: string
  readonly traceId: string
  readonly sessionId: string
  readonly organization: string
  readonly status: ListedTrace['status']
  readonly firstMs: number
  readonly lastMs: number
  readonly traces: number
  readonly errorTraces: number
  readonly llmCalls: number
  readonly costUsd: number | null
  readonly userId: string | null
}

const positionOf = ({ startTime, traceId, organization }: Row): Position => ({
  sort: SORT,
  sortKey: startTime,
  startTime,
  traceId,
  organization,
})

const toSession = (row: Row, { traces }: PageLimits): SessionPage['sessions'][number] => ({
  session_id: row.sessionId,
  organization: row.organization === '' ? null : row.organization,
  first_time: new Date(row.firstMs).toISOString(),
  last_time: new Date(row.lastMs).toISOString(),
  traces: Math.min(row.traces, traces),
  error_traces: row.errorTraces,
  llm_calls: row.llmCalls,
  tokens: tokensOf(row),
  cost_usd: row.costUsd,
  user_id: row.userId,
  last_status: row.status,
  last_trace_id: row.traceId.replaceAll('-', ''),
  truncated: row.traces > traces,
})

const SUMS = ['llm_calls', ...TOKEN_COLUMNS].map(
  (column) => `coalesce(sum(${column}), 0)::float8 as ${column}`,
)

function listRows(sql: Queryable, query: SessionQuery, limits: PageLimits): Promise<Row[]> {
  const { organization, crew, user, from, to, cursor, limit } = query
  const filter = { organization, crew, user, from, to }
  const order = sql`order by start_time desc, trace_id desc, organization desc`
  const behind = cursor
    ? sql`and (start_time, trace_id, organization) < (
        ${`${cursor.startTime}Z`}::text::timestamptz, ${cursor.traceId}::text::uuid,
        ${cursor.organization}
      )`
    : sql``
  return sql<Row[]>`
    with looked_at as (
      select trace_id, start_time, session_id, organization, status, not exists (
          select from listed_traces as later
          where later.session_id = traces.session_id
            and later.organization = traces.organization
            and (later.start_time, later.trace_id) > (traces.start_time, traces.trace_id)
        ) as matches
      from listed_traces as traces
      where session_id is not null and ${indexedConditions(sql, filter)} ${behind}
      ${order} limit ${limits.scanned}
    ),
    placed as (
      select *, row_number() over (${order})::int as place, count(*) over () as total,
        count(*) filter (where matches) over (${order}) as matching
      from looked_at
    )
    select matches, place, (start_time at time zone 'UTC')::text as start_time, trace_id,
      session_id, organization, status, sums.*
    from placed cross join lateral (
      select count(*)::float8 as traces,
        count(*) filter (where own.status = 'error')::float8 as error_traces,
        (extract(epoch from min(own.start_time)) * 1000)::float8 as first_ms,
        (extract(epoch from max(coalesce(own.end_time, own.last_start))) * 1000)::float8 as last_ms,
        ${sql.unsafe(SUMS.join(', '))}, ${sql.unsafe(inRange('sum(cost_usd)'))} as cost_usd,
        (array_agg(user_id ${order}) filter (where user_id is not null))[1] as user_id
      from (
        select * from listed_traces as one
        where one.session_id = placed.session_id
          and one.organization = placed.organization
        ${order} limit ${limits.traces + 1}
      ) as own
    ) as sums
    where (matches and matching <= ${limit + 1}) or place = total
    order by place`
}

import * as v from 'valibot'
import { integer, word } from '../../../shared/env.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import type { TracePage } from '../../../shared/trace-answers/lists.ts'
import { invalid, readParameters, traceId } from '../read-query.ts'
import type { Reader } from '../reader.ts'
import { invalidCursor, readCursor, toCursor } from './cursor.ts'
import type { Position } from './cursor.ts'
import {
  hasOtherConditions,
  indexedConditions,
  needsLookUps,
  otherConditions,
} from './filter-sql.ts'
import { EXCERPT_MAX, findExcerpts } from './excerpts.ts'
import { lookUpAttribute } from './found-attributes.ts'
import { findMatches, keyOf, MAX_FOUND, searchTexts } from './found-texts.ts'
import type { SearchedFilter } from './found-texts.ts'
import type { Fragment } from './sql-parts.ts'
import { shownColumns, toListedTrace } from './listed-trace.ts'
import type { TraceRow, TraceTexts } from './listed-trace.ts'
import { filterParameters, limitTo, requireRanges } from './trace-filter.ts'
import type { TraceFilter } from './trace-filter.ts'

const MAX_LIMIT = 200

/** The value by which a list is ordered, each with an index of `traces`. */
const SORTS = {
  newest: { key: 'start_time', type: 'timestamptz', direction: 'desc' },
  oldest: { key: 'start_time', type: 'timestamptz', direction: 'asc' },
  duration: { key: 'duration_ns', type: 'int8', direction: 'desc' },
  cost: { key: 'cost_usd', type: 'numeric', direction: 'desc' },
  tokens: { key: '(input_tokens + output_tokens)', type: 'numeric', direction: 'desc' },
} as const

type Sort = keyof typeof SORTS

const listParameters = v.object({
  ...filterParameters,
  sort: v.optional(word(['newest', 'oldest', 'duration', 'cost', 'tokens'] as const), 'newest'),
  limit: v.optional(integer(1, MAX_LIMIT), '50'),
  cursor: v.optional(v.pipe(v.string(), v.transform(readCursor))),
  after: v.optional(traceId),
  excerpts: v.optional(integer(1, EXCERPT_MAX)),
})

interface TraceQuery {
  readonly filter: TraceFilter
  readonly sort: Sort
  readonly limit: number
  readonly after?: Position | undefined
  /** The id of a trace behind which the page begins, instead of a position. */
  readonly afterTrace?: string | undefined
  /** The characters that are shown of what was asked and answered. */
  readonly excerpts?: number | undefined
}

/** Raises `invalid_request` that names the parameter, what was given and what is allowed. */
export function readListQuery(parameters: URLSearchParams): TraceQuery {
  const given = readParameters(listParameters, parameters)
  const { sort, limit, cursor: after, after: afterTrace, excerpts, ...filter } = given
  requireRanges(filter, parameters)
  if (after && afterTrace) throw invalid('after', 'after and cursor cannot be given together.')
  if (after && (after.sort !== sort || isTimed(sort) !== after.sortKey.includes(':'))) {
    throw invalidCursor()
  }
  return { filter, sort, limit, after, afterTrace, excerpts }
}

const isTimed = (sort: Sort): boolean => SORTS[sort].type === 'timestamptz'

/** Traces looked at for one page at the most, when a condition has no index. */
interface ScanLimits {
  /** For numbers of the trace. */
  readonly traces: number
  /** For attributes and frequent texts, which are looked up in spans. */
  readonly lookUps: number
  /** Spans with the text, above which it counts as a frequent one. */
  readonly found: number
}

const SCAN_LIMITS: ScanLimits = { traces: 20_000, lookUps: 2000, found: MAX_FOUND }

/**
 * One page of the traces; it costs the same however many there are. The start of a root never
 * changes, so pages by start neither repeat nor skip such a trace while spans arrive. A trace
 * without a root stands where its first span starts.
 */
export async function listTraces(
  reader: Reader,
  query: TraceQuery,
  limits = SCAN_LIMITS,
): Promise<TracePage> {
  return reader.ask(async (sql) => {
    const filter = await searchTexts(sql, limitTo(reader, query.filter), limits.found)
    const size = scanSize({ ...query, filter }, limits)
    const placed = { ...query, after: await findPlace(sql, { ...query, filter }) }
    const searched = { ...placed, filter: await lookUp(sql, { ...placed, filter }, size) }
    const page = toPage(await listRows(sql, searched, size), { ...query, size })
    const textsOf = await findTexts(sql, { ...query, filter }, page.shown)
    return {
      traces: page.shown.map((row) => toListedTrace(row, textsOf(row))),
      next_cursor: page.next ? toCursor({ ...page.next, sort: query.sort }) : null,
    }
  })
}

/** The place of a trace in the list, whether its filter leaves it or not. */
async function findPlace(
  sql: Queryable,
  { filter, sort, after, afterTrace }: SearchedQuery,
): Promise<Position | undefined> {
  if (afterTrace === undefined) return after
  const { organization } = filter
  const [place] = await sql<Omit<Position, 'sort'>[]>`
    select organization, trace_id, (start_time at time zone 'UTC')::text as start_time,
      ${keyText(sql, sort)} as sort_key
    from (
      select *, ${keyOfSort(sql, sort)} as sort_key from listed_traces
      where trace_id = ${afterTrace}::text::uuid
        ${organization === undefined ? sql`` : sql`and organization = ${organization}`}
      limit 1
    ) as placed
    where sort_key is not null`
  if (place) return { sort, ...place }
  throw invalid('after', 'after must be the id of a trace that can stand in this list.')
}

/** What is shown of the texts of traces, by their rows. */
async function findTexts(
  sql: Queryable,
  { filter: { text }, excerpts }: SearchedQuery,
  rows: readonly Row[],
): Promise<(row: Row) => TraceTexts> {
  const matches = text === undefined ? undefined : await findMatches(sql, text, rows)
  const shown = excerpts === undefined ? undefined : await findExcerpts(sql, rows, excerpts)
  return (row) => ({ match: matches?.get(keyOf(row)), excerpt: shown?.get(keyOf(row)) })
}

/** The rows of a page, and the one behind which the next page begins. */
function toPage(rows: readonly Row[], { limit, size }: { limit: number; size: number }) {
  const matching = rows.filter(({ matches }) => matches)
  const shown = matching.slice(0, limit)
  const hasMore = matching.length > limit || rows.at(-1)?.place === size
  return {
    shown,
    next: hasMore ? (matching.length < limit ? rows.at(-1) : shown.at(-1)) : undefined,
  }
}

function scanSize({ filter, limit }: SearchedQuery, limits: ScanLimits): number {
  if (!hasOtherConditions(filter)) return limit + 1
  return needsLookUps(filter) ? limits.lookUps : limits.traces
}

interface SearchedQuery extends TraceQuery {
  readonly filter: SearchedFilter
}

interface Row extends TraceRow, Omit<Position, 'sort'> {
  readonly matches: boolean
  /** Among those looked at, from 1. */
  readonly place: number
}

/**
 * Of the next traces that fit the conditions that have an index, those that fit the others too, and
 * the last one. Traces without the value by which the list is ordered are not in it.
 */
function listRows(sql: Queryable, query: SearchedQuery, size: number): Promise<Row[]> {
  const { filter, sort, limit } = query
  const order = orderOf(sql, sort)
  return sql<Row[]>`
    with looked_at as (
      select organization, trace_id, start_time, ${keyOfSort(sql, sort)} as sort_key,
        ${otherConditions(sql, filter)} as matches
      ${fromNext(sql, query)}
      order by ${order} limit ${size}
    ),
    placed as (
      select *, row_number() over (order by ${order})::int as place, count(*) over () as total,
        count(*) filter (where matches) over (order by ${order}) as matching
      from looked_at
    )
    select matches, place, ${keyText(sql, sort)} as sort_key, ${shownColumns(sql)}
    from placed join listed_traces as traces using (organization, trace_id)
    where (matches and matching <= ${limit + 1}) or place = total
    order by place`
}

/** The traces from which a page is taken. */
const fromNext = (sql: Queryable, query: SearchedQuery): Fragment => sql`
  from listed_traces as traces
  where ${indexedConditions(sql, query.filter)} and ${keyOfSort(sql, query.sort)} is not null
    ${behind(sql, query)}`

const keyOfSort = (sql: Queryable, sort: Sort): Fragment => sql`${sql.unsafe(SORTS[sort].key)}`

/** Those that `listRows` looks at. */
function lookUp(sql: Queryable, query: SearchedQuery, limit: number): Promise<SearchedFilter> {
  const { key, direction } = SORTS[query.sort]
  const order = [key, 'start_time', 'trace_id', 'organization']
  const sorted = sql.unsafe(order.map((column) => `${column} ${direction}`).join(', '))
  const from: Fragment = sql`${fromNext(sql, query)} order by ${sorted}`
  return lookUpAttribute(sql, query.filter, { from, limit })
}

/** Of a list and, in the same direction, of the rows with the same value. */
const orderOf = (sql: Queryable, sort: Sort): Fragment => {
  const { direction } = SORTS[sort]
  const columns = ['sort_key', 'start_time', 'trace_id', 'organization']
  return sql`${sql.unsafe(columns.map((column) => `${column} ${direction}`).join(', '))}`
}

/** A time without its zone, whatever the session's is. */
const keyText = (sql: Queryable, sort: Sort): Fragment =>
  isTimed(sort) ? sql`(placed.sort_key at time zone 'UTC')::text` : sql`placed.sort_key::text`

function behind(sql: Queryable, { sort, after }: TraceQuery): Fragment {
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

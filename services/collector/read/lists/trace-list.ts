import * as v from 'valibot'
import { integer } from '../../../shared/env.ts'
import { oneOf } from '../../../shared/schemas.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import type { TextMatch, TracePage } from '../../../shared/trace-answers/lists.ts'
import { invalid, readParameters, traceId } from '../read-query.ts'
import type { ColdReader, Reader } from '../reader.ts'
import { invalidCursor, readCursor, toCursor } from './cursor.ts'
import type { Position } from './cursor.ts'
import { hasOtherConditions, needsLookUps, otherConditions } from './filter-sql.ts'
import { EXCERPT_MAX, findExcerpts } from './excerpts.ts'
import { listFilesInOrder, lookIntoFiles } from './archived-attributes.ts'
import { lookUpAttribute } from './found-attributes.ts'
import { MAX_NAMED, searchTexts } from './found-texts.ts'
import type { SearchedFilter } from './filter-sql.ts'
import { keyOf } from './span-texts.ts'
import type { Fragment } from './sql-parts.ts'
import { shownColumns, toListedTrace } from './listed-trace.ts'
import type { TraceRow, TraceTexts } from './listed-trace.ts'
import { filterParameters, limitTo, requireRanges } from './trace-filter.ts'
import type { TraceFilter } from './trace-filter.ts'
import { fromNext, isTimed, keyOfSort, keyText, orderOf } from './trace-order.ts'
import type { Sort } from './trace-order.ts'

const MAX_LIMIT = 200

const listParameters = v.object({
  ...filterParameters,
  sort: v.optional(oneOf(['newest', 'oldest', 'duration', 'cost', 'tokens'] as const), 'newest'),
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

/** Traces looked at for one page at the most, when a condition has no index. */
interface ScanLimits {
  /** For numbers of the trace. */
  readonly traces: number
  /** For attributes, which are looked up in spans, and for those with a text beside others. */
  readonly lookUps: number
  /** Traces that may have the text, above which it counts as a frequent one. */
  readonly named: number
  /** For a text, and for an attribute in archived days. */
  readonly budgetMs?: number
}

const SCAN_LIMITS: ScanLimits = { traces: 20_000, lookUps: 2000, named: MAX_NAMED }

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
    const { cold } = reader
    const limited = { ...query, filter: limitTo(reader, query.filter) }
    const placed = { ...limited, after: await findPlace(sql, limited) }
    const size = scanSize(limited, limits)
    const { filter, matches, stoppedAt } = await searchTexts(sql, placed, {
      ...limits,
      wanted: size,
      cold,
    })
    const searched = { ...placed, filter: await lookUp(sql, { ...placed, filter }, size) }
    const page = await listPage(sql, searched, { ...limits, size, stoppedAt, cold })
    const textsOf = await findTexts(sql, query, { matches, rows: page.shown, cold })
    return {
      traces: page.shown.map((row) => toListedTrace(row, textsOf(row))),
      next_cursor: page.next ? toCursor({ ...page.next, sort: query.sort }) : null,
    }
  })
}

interface PageScan {
  /** Traces that are looked at, at the most. */
  readonly size: number
  /** Where the search for a text stopped, if it did. */
  readonly stoppedAt: Position | undefined
  readonly cold: ColdReader | undefined
  readonly budgetMs?: number | undefined
}

/**
 * The page of a filter whose text was looked for. With an attribute, files of archived days are
 * opened only once the traces before the first archived one do not fill the page.
 */
async function listPage(sql: Queryable, query: SearchedQuery, scan: PageScan) {
  const { cold, size, budgetMs } = scan
  const { attribute } = query.filter
  const files = attribute && cold ? await listFilesInOrder(sql, query, size) : []
  const [first] = files
  if (!first || !attribute || !cold) return toPage(await listRows(sql, query, size), query, scan)
  if (first.place > 1) {
    const hot = { size: first.place - 1, stoppedAt: undefined }
    const page = toPage(await listRows(sql, query, hot.size), query, hot)
    if (page.shown.length === query.limit) return page
  }
  const wanted = query.limit + 1
  const looked = await lookIntoFiles(sql, files, { attribute, cold, size, wanted, budgetMs })
  const filter = { ...query.filter, archived: looked.archived }
  const rows = await listRows(sql, { ...query, filter }, looked.size)
  return toPage(rows, query, looked.size < size ? looked : { ...scan, ...looked })
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

interface Matches {
  readonly matches: ReadonlyMap<string, TextMatch>
  readonly rows: readonly Row[]
  readonly cold: ColdReader | undefined
}

/** What is shown of the texts of traces, by their rows. */
async function findTexts(
  sql: Queryable,
  { excerpts: length }: TraceQuery,
  { matches, rows, cold }: Matches,
): Promise<(row: Row) => TraceTexts> {
  const excerptOf =
    length === undefined ? undefined : await findExcerpts(sql, rows, { length, cold })
  return (row) => ({ match: matches.get(keyOf(row)), excerpt: excerptOf?.(row) })
}

type PageEnd = Partial<Pick<PageScan, 'stoppedAt'>> & Pick<PageScan, 'size'>

/** The rows of a page, and the one behind which the next page begins. */
function toPage(rows: readonly Row[], { limit }: SearchedQuery, { size, stoppedAt }: PageEnd) {
  const matching = rows.filter(({ matches }) => matches)
  const shown = matching.slice(0, limit)
  const end = stoppedAt ?? (rows.at(-1)?.place === size ? rows.at(-1) : undefined)
  return { shown, next: matching.length > limit ? shown.at(-1) : end }
}

function scanSize({ filter, limit }: SearchedQuery, limits: ScanLimits): number {
  if (!hasOtherConditions(filter)) return limit + 1
  const isLookedUp = needsLookUps(filter) || filter.text !== undefined
  return isLookedUp ? limits.lookUps : limits.traces
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
  const order = orderOf(sql, sort, 'sort_key')
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

/** Those that `listRows` looks at. */
function lookUp(sql: Queryable, query: SearchedQuery, limit: number): Promise<SearchedFilter> {
  const from: Fragment = sql`${fromNext(sql, query)} order by ${orderOf(sql, query.sort)}`
  return lookUpAttribute(sql, query.filter, { from, limit })
}

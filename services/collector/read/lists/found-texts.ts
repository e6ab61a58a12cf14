import { AppError } from '../../../shared/errors.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import type { TextMatch } from '../../../shared/trace-answers/lists.ts'
import { toHexId } from '../span-json.ts'
import type { Fragment } from './sql-parts.ts'
import { timestamp } from './sql-parts.ts'
import type { TraceFilter } from './trace-filter.ts'

/** Spans that are looked for by the index; where more have the text, traces are looked at. */
export const MAX_FOUND = 2000
/** Characters that are shown before and after what was found. */
const AROUND = 80

/** Traces by their organizations and ids. */
export interface KnownTraces {
  readonly organizations: readonly string[]
  readonly traceIds: readonly string[]
}

/** The traces that have a text; `isMany` when they are too many to be named. */
interface FoundTexts extends KnownTraces {
  readonly isMany: boolean
}

/** A filter whose text was looked for, and its attribute where a condition cannot do that. */
export type SearchedFilter = TraceFilter & {
  readonly found?: FoundTexts | undefined
  readonly holders?: KnownTraces | undefined
}

/** Looks for the filter's text, if it has one. Raises `invalid_request` where none are kept. */
export async function searchTexts(
  sql: Queryable,
  filter: TraceFilter,
  maxFound = MAX_FOUND,
): Promise<SearchedFilter> {
  const { text, organization, from } = filter
  if (text === undefined) return filter
  await requireSearch(sql)
  const rows = await sql<{ organization: string; traceId: string }[]>`
    select * from find_texts(
      ${toPattern(text)}, ${organization ?? null}::text,
      ${from ? sql`${timestamp(sql, from)} - interval '1 hour'` : sql`null`}, ${maxFound + 1}
    )`
  const found = {
    isMany: rows.length > maxFound,
    organizations: rows.map((row) => row.organization),
    traceIds: rows.map(({ traceId }) => traceId),
  }
  return { ...filter, found }
}

async function requireSearch(sql: Queryable): Promise<void> {
  const [row] = await sql<{ state: string }[]>`select state from text_search`
  if (row?.state === 'on') return
  const message =
    row?.state === 'off'
      ? 'text: the search in prompts and answers is off; COLLECTOR_SEARCH=on switches it on.'
      : 'text: the search in prompts and answers needs the extension pg_trgm, which the ' +
        "collector's database does not have."
  throw new AppError('invalid_request', message, { details: { parameter: 'text' } })
}

const toPattern = (text: string): string => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`

/** The trace is one of those that were found. */
export const isFound = (sql: Queryable, { organizations, traceIds }: KnownTraces): Fragment => sql`
  (organization, trace_id) in (
    select * from unnest(${organizations}::text[], ${traceIds}::text[]::uuid[])
  )`

/** A span of the trace has the text. */
export const hasText = (sql: Queryable, text: string): Fragment => sql`
  exists (
    select from searched_texts as texts
    where texts.trace_id = traces.trace_id
      and texts.trace_id between traces.trace_id and traces.trace_id
      and texts.organization = traces.organization
      and texts.start_time between traces.first_start and traces.last_start
      and texts.text ilike ${toPattern(text)}
  )`

/** A trace by its organization and id. */
export interface KnownTrace {
  readonly organization: string
  readonly traceId: string
}

/** The first match in each of these traces, by organization and trace id. */
export async function findMatches(
  sql: Queryable,
  text: string,
  traces: readonly KnownTrace[],
): Promise<Map<string, TextMatch>> {
  const rows = await sql<(KnownTrace & { spanId: string; text: string })[]>`
    select distinct on (organization, trace_id) organization, trace_id, span_id, text
    from unnest(
        ${traces.map(({ organization }) => organization)}::text[],
        ${traces.map(({ traceId }) => traceId)}::text[]::uuid[]
      ) as shown (organization, trace_id)
    join searched_texts using (organization, trace_id)
    where text ilike ${toPattern(text)}
    order by organization, trace_id, start_time, span_id`
  return new Map(rows.map((row) => [keyOf(row), toMatch(row, text)]))
}

/** The key of `findMatches`. */
export const keyOf = ({ organization, traceId }: KnownTrace): string => `${traceId} ${organization}`

function toMatch(row: { spanId: string; text: string }, sought: string): TextMatch {
  const at = Math.max(row.text.toLowerCase().indexOf(sought.toLowerCase()), 0)
  const begins = Math.max(at - AROUND, 0)
  const ends = at + sought.length + AROUND
  const excerpt = row.text.slice(begins, ends)
  return {
    span_id: toHexId(row.spanId),
    excerpt: `${begins > 0 ? '…' : ''}${excerpt}${ends < row.text.length ? '…' : ''}`,
  }
}

import type { Queryable } from '../../shared/postgres/database.ts'
import type { SearchPage } from '../../shared/trace-answers/one-trace.ts'
import { PROMOTED_COLUMNS } from '../conventions/columns.ts'
import { KEPT_COLUMNS, LEFT_OUT_KEYS } from '../conventions/left-out-keys.ts'
import { readNumbersCursor, toNumbersCursor, wrongCursor } from './span-cursor.ts'
import type { Reader } from './reader.ts'
import { toHexId } from './span-json.ts'
import type { SpanPosition } from './span-rows.ts'
import { traceNotFound } from './trace-document.ts'
import { listTraceParts, spansOfPart } from './trace-parts.ts'
import type { PartSize, TracePart } from './trace-parts.ts'

/** What is looked for in a trace. */
export interface SearchQuery {
  /** A UUID. */
  readonly traceId: string
  readonly text: string
  /** Matching spans at the most. */
  readonly limit: number
  readonly after?: SpanPosition | undefined
}

/** What a search may take. */
export interface SearchLimits {
  /** No part is begun after this, so that one that takes long still ends within 5 s. */
  readonly budgetMs?: number
  /** What one statement unpacks and goes through. */
  readonly partSize?: PartSize
}

type Match = SearchPage['matches'][number]
type Place = Match['found'][number]['in']

const PLACES: readonly Place[] = ['name', 'status_message', 'attributes', 'payload', 'events']

const PART = { spans: 10_000, bytes: 32 << 20 }
/** Statements at a time: each has a connection, and the next part is ready when one is done. */
const CONCURRENT = 2
const BUDGET_MS = 3000
/** Characters around what was found. */
const CONTEXT = 60
const LONGEST_NAME = 200

/**
 * Looks for a text in a trace, letter by letter, until the page is full or the time is up; the
 * cursor says where to go on. Raises `not_found`.
 */
export async function searchTrace(
  reader: Reader,
  query: SearchQuery,
  { budgetMs = BUDGET_MS, partSize = PART }: SearchLimits = {},
): Promise<SearchPage> {
  const ends = performance.now() + budgetMs
  const parts = await reader.ask((sql) => listTraceParts(sql, query, partSize))
  if (parts.length === 0 && !query.after) throw traceNotFound(query.traceId)
  const nextOfPart = searchInOrder(reader, query, { parts, ends })
  const matches: Match[] = []
  let searched = 0
  let last = query.after
  for (const part of parts) {
    const rows = await nextOfPart()
    if (!rows) return page(query, { matches, searched, last })
    const taken = rows.slice(0, query.limit - matches.length)
    matches.push(...taken.map(toMatch))
    last = taken.at(-1)
    if (last && matches.length === query.limit) {
      searched += await countUpTo(reader, query, { ...part, last })
      return page(query, { matches, searched, last })
    }
    searched += part.spans
    last = part.last
  }
  return page(query, { matches, searched, last: undefined })
}

interface Found {
  readonly matches: readonly Match[]
  readonly searched: number
  readonly last: SpanPosition | undefined
}

const page = ({ traceId }: SearchQuery, { matches, searched, last }: Found): SearchPage => ({
  trace_id: traceId.replaceAll('-', ''),
  spans_searched: searched,
  matches,
  next_cursor: last ? toNumbersCursor([BigInt(last.startUs), BigInt(last.spanId)]) : null,
})

/**
 * Searches some parts at a time. Each call has the matches of the next part; undefined once the
 * time is up, but not for the first part.
 */
function searchInOrder(
  reader: Reader,
  query: SearchQuery,
  { parts, ends }: { parts: readonly TracePart[]; ends: number },
): () => Promise<MatchRow[] | undefined> {
  const running: Promise<MatchRow[]>[] = []
  let begun = 0
  const mayBegin = (): boolean =>
    running.length < CONCURRENT && (begun === 0 || performance.now() <= ends)
  return async () => {
    while (mayBegin()) {
      const part = parts[begun++]
      if (!part) break
      const searching = reader.ask((sql) => searchPart(sql, query, part))
      // Nobody waits for it when the page is full before.
      searching.catch(() => {})
      running.push(searching)
    }
    return running.shift()
  }
}

/** The spans of a part that were looked at when its last one was found. */
async function countUpTo(
  reader: Reader,
  { traceId }: SearchQuery,
  part: TracePart,
): Promise<number> {
  const [row] = await reader.ask(
    (sql) => sql<{ count: string }[]>`select count(*) from ${spansOfPart(sql, traceId, part)}`,
  )
  return Number(row?.count)
}

interface MatchRow extends SpanPosition {
  readonly startNs: number
  readonly name: string
  /** By place; null where there is nothing. */
  readonly excerpts: (string | null)[]
}

/**
 * Within stored JSON the text is looked for as JSON writes it. What is inside `found` is computed
 * once, attributes are put together only where the text may be in them, and only the excerpts of
 * matching spans are cut out.
 */
function searchPart(
  sql: Queryable,
  { text, traceId, limit }: SearchQuery,
  part: TracePart,
): Promise<MatchRow[]> {
  const json = JSON.stringify(text).slice(1, -1)
  const excerpt = (at: string, column: string, length: number) => sql`
    case when ${sql(at)} > 0 then substr(${sql(column)},
      greatest(1, ${sql(at)} - ${CONTEXT}::int), ${length + 2 * CONTEXT}::int) end`
  return sql<MatchRow[]>`
    select span_id, start_us, start_ns, left(name, ${LONGEST_NAME}::int) as name, array[
        ${excerpt('name_at', 'name', text.length)},
        ${excerpt('status_at', 'status_message', text.length)},
        ${excerpt('attributes_at', 'attributes', json.length)},
        ${excerpt('payload_at', 'payload', json.length)},
        ${excerpt('events_at', 'events', json.length)}
      ] as excerpts
    from (
      select *, strpos(name, ${text}) as name_at,
        strpos(status_message, ${text}) as status_at,
        strpos(attributes, ${json}) as attributes_at,
        strpos(payload, ${json}) as payload_at,
        strpos(events, ${json}) as events_at
      from (
        select span_id, (extract(epoch from start_time) * 1000000)::int8 as start_us,
          start_ns, name, status_message, payload, events,
          case when left_out is null then other_attributes::text
            when ${isAnywhere(json)}::bool or strpos(other_attributes::text, ${json}) > 0
              or strpos(${sql.unsafe(KEPT_TEXTS)}, ${text}) > 0
            then attributes::text end as attributes
        from ${spansOfPart(sql, traceId, part)}
        offset 0
      ) as spans
      offset 0
    ) as found
    where greatest(name_at, status_at, attributes_at, payload_at, events_at) > 0
    order by start_us, span_id limit ${limit}`
}

const KEPT_TEXTS = `concat_ws(E'\\n', ${PROMOTED_COLUMNS.filter(
  ({ column, kind }) => kind === 'text' && KEPT_COLUMNS.includes(column),
)
  .map(({ column }) => column)
  .join(', ')})`

/** Letters that JSON may have outside of strings. */
const OUTSIDE = /^[\s\d:,{}[\].+\-aeflnrstuE]*$/

/**
 * Whether a text may be in the attributes where it is neither in those that are stored as such nor
 * in a column: in a key, a number, what stands between two of them, or what JSON escapes.
 */
const isAnywhere = (json: string): boolean =>
  json.includes('\\') || OUTSIDE.test(json) || LEFT_OUT_KEYS.some((key) => key.includes(json))

const toMatch = ({ spanId, name, startUs, startNs, excerpts }: MatchRow): Match => ({
  span_id: toHexId(spanId),
  name,
  start_time_unix_nano: `${BigInt(startUs) * 1000n + BigInt(startNs)}`,
  found: PLACES.flatMap((place, index) => {
    const excerpt = excerpts[index]
    if (typeof excerpt !== 'string') return []
    return [{ in: place, excerpt: isJson(place) ? withoutEscapes(excerpt) : excerpt }]
  }),
})

const isJson = (place: Place): boolean => place !== 'name' && place !== 'status_message'

const ESCAPES = /\\(?:u([0-9a-f]{4})|(.))/g
const LETTERS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** An excerpt may begin or end within an escape, so it need not be JSON. */
const withoutEscapes = (json: string): string =>
  json.replace(ESCAPES, (_, code: string | undefined, letter: string | undefined) =>
    code === undefined
      ? (LETTERS[letter ?? ''] ?? letter ?? '')
      : String.fromCharCode(Number.parseInt(code, 16)),
  )

/** A date that PostgreSQL has. */
const LATEST_US = 10n ** 16n

/** Raises `invalid_request` for anything that is not the `next_cursor` of a search. */
export function readSearchCursor(cursor: string): SpanPosition {
  const [startUs = 0n, spanId = 0n] = readNumbersCursor(cursor, 2)
  if (startUs > LATEST_US || startUs < -LATEST_US) throw wrongCursor()
  return { startUs: `${startUs}`, spanId: `${spanId}` }
}

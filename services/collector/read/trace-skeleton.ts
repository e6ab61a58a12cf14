import { readNumbersCursor, toNumbersCursor } from './span-cursor.ts'
import { createJsonRows } from './json-rows.ts'
import type { JsonColumn, JsonRows, Origin } from './json-rows.ts'
import type { Reader } from './reader.ts'
import { pricedSpans } from './priced-spans.ts'
import { traceNotFound } from './trace-document.ts'

/** The page of a skeleton that is asked for. */
export interface SkeletonQuery {
  /** A UUID. */
  readonly traceId: string
  /** Spans at the most. */
  readonly limit: number
  readonly after?: SkeletonPosition | undefined
}

/** The last span of a page, and the time that the offsets of the trace are counted from. */
export interface SkeletonPosition {
  readonly origin: Origin
  /** The start of the span, in nanoseconds since 1970. */
  readonly start: bigint
  /** A signed decimal. */
  readonly spanId: string
}

/** A page of a skeleton, as the bytes of a JSON document. */
export interface Skeleton {
  readonly pieces: readonly Buffer[]
  readonly isTruncated: boolean
}

/** Where a skeleton is read from, and how large it may be. */
export interface SkeletonOptions {
  readonly maxBytes?: number
  /** What `pricedSpans` returns. @default spans without computed costs */
  readonly source?: string
}

const UNPRICED = pricedSpans([])

/** Spans in one answer. */
export const MAX_SKELETON_SPANS = 100_000
/** More than 100,000 spans of 200 bytes: only traces of very long names are cut by it. */
const MAX_BYTES = 32 << 20
/** Characters of a name, and of the other texts. */
const NAME_MAX = 200
const TEXT_MAX = 100

const shortened = (column: string, max: number): string =>
  `case when octet_length(${column}) <= ${max} then ${column} ` +
  `else left(${column}, ${max - 1}) || '…' end`

const hexId = (column: string): string => `int8send(${column})`

/** Exact until the year 2106: a double then no longer has the microseconds. */
const START = "(date_part('epoch', start_time) * 1000000)::int8 * 1000 + start_ns"

interface Column {
  readonly name: string
  readonly form: JsonColumn
  readonly sql: string
}

const text = (name: string, max = TEXT_MAX, column = name): Column => ({
  name,
  form: 'text',
  sql: shortened(column, max),
})
const number = (name: string): Column => ({ name, form: 'number', sql: name })

const COLUMNS: readonly Column[] = [
  { name: 'span_id', form: 'id', sql: hexId('span_id') },
  { name: 'parent_span_id', form: 'id', sql: hexId('parent_span_id') },
  text('name', NAME_MAX),
  number('kind'),
  text('operation_kind'),
  { name: 'start_offset_ns', form: 'time', sql: START },
  number('duration_ns'),
  number('status'),
  text('error_type'),
  { name: 'llm_call', form: 'flag', sql: 'llm_call' },
  text('model', TEXT_MAX, 'coalesce(response_model, request_model)'),
  text('agent'),
  text('task'),
  text('tool'),
  number('input_tokens'),
  number('output_tokens'),
  number('cache_read_tokens'),
  number('cache_write_tokens'),
  number('reasoning_tokens'),
  number('cost_usd'),
  number('computed_cost_usd'),
  {
    name: 'cut',
    form: 'flag',
    sql: 'num_nonnulls(dropped_attributes, dropped_events, dropped_links) > 0',
  },
]

/**
 * The columns of a trace's spans in the order of their start, never an attribute or a payload: a
 * page, and where the next one begins. Raises `not_found`.
 */
export async function readSkeleton(
  reader: Reader,
  query: SkeletonQuery,
  { maxBytes = MAX_BYTES, source = UNPRICED }: SkeletonOptions = {},
): Promise<Skeleton> {
  const rows = createJsonRows(
    COLUMNS.map(({ form }) => form),
    query.after?.origin,
  )
  const page = createPage(rows, { limit: query.limit, maxBytes })
  await reader.copyOut(skeletonQuery(query, source), (row) => page.add(row))
  if (!page.last() && !query.after) throw traceNotFound(query.traceId)
  const isTruncated = page.isFull()
  const last = page.last()
  const origin = rows.origin() ?? { seconds: 0, nanoseconds: 0 }
  const next = isTruncated && last ? toSkeletonCursor({ origin, ...last }) : null
  const head =
    `{"trace_id":"${query.traceId.replaceAll('-', '')}",` +
    `"start_time_unix_nano":"${toNanoseconds(origin)}",` +
    `"columns":${JSON.stringify(COLUMNS.map(({ name }) => name))},"spans":[\n`
  const tail = `\n],"truncated":${isTruncated},"next_cursor":${JSON.stringify(next)}}\n`
  return { pieces: [Buffer.from(head), ...rows.pieces(), Buffer.from(tail)], isTruncated }
}

interface Page {
  add(row: Buffer): void
  /** The last span that was taken; undefined when there was none. */
  last(): Place | undefined
  isFull(): boolean
}

type Place = Pick<SkeletonPosition, 'start' | 'spanId'>

/**
 * The first three values of a row are its place; the others are shown. Of organizations that use
 * the same trace id the first by name is shown to the platform, whose own comes before all.
 */
function createPage(
  rows: JsonRows,
  { limit, maxBytes }: { limit: number; maxBytes: number },
): Page {
  let count = 0
  let isFull = false
  let last: Buffer | undefined
  return {
    add(row) {
      if (isFull || (last && !hasSameOwner(last, row))) return
      isFull = count === limit || rows.bytes() > maxBytes
      if (isFull) return
      count++
      last = row
      rows.add(row, endOf(row, PLACE_VALUES))
    },
    last() {
      const [start, spanId] = last?.toString().split('\t') ?? []
      return start && spanId ? { start: BigInt(start), spanId } : undefined
    },
    isFull: () => isFull,
  }
}

const TAB = 0x09
const PLACE_VALUES = 3
const NANOSECONDS = 1_000_000_000n

/** Where the value after so many values begins. */
function endOf(row: Buffer, values: number): number {
  let tabs = 0
  for (let at = 0; at < row.length; at++) if (row[at] === TAB && ++tabs === values) return at + 1
  return row.length
}

function hasSameOwner(one: Buffer, other: Buffer): boolean {
  let [at, place] = [endOf(one, 2), endOf(other, 2)]
  while (one[at] === other[place] && one[at] !== TAB) {
    at++
    place++
  }
  return one[at] === other[place]
}

/** In an order that no index has: else the planner may walk through all spans by time. */
const skeletonQuery = ({ traceId, limit, after }: SkeletonQuery, source: string): string => `
  select ${START}, span_id, organization, ${COLUMNS.map(({ sql }) => sql).join(', ')}
  from ${source}
  where trace_id = '${traceId}' ${after ? isAfter(traceId, after) : ''}
  order by organization, start_time + interval '0', span_id limit ${limit + 1}`

function isAfter(traceId: string, { start, spanId }: SkeletonPosition): string {
  const time = timeLiteral(start / 1000n)
  return `
    and start_time >= ${time} and (start_time, span_id) > (${time}, ${spanId})
    and organization = (select min(organization) from live_spans where trace_id = '${traceId}')`
}

const timeLiteral = (us: bigint): string =>
  `(timestamptz 'epoch' + interval '${us / 1_000_000n} s ${us % 1_000_000n} us')`

const toSkeletonCursor = ({ origin, start, spanId }: SkeletonPosition): string =>
  toNumbersCursor([toNanoseconds(origin), start, BigInt(spanId)])

const toNanoseconds = ({ seconds, nanoseconds }: Origin): bigint =>
  BigInt(seconds) * NANOSECONDS + BigInt(nanoseconds)

const toOrigin = (time: bigint): Origin => ({
  seconds: Number(time / NANOSECONDS),
  nanoseconds: Number(time % NANOSECONDS),
})

/** Raises `invalid_request` for anything that is not the `next_cursor` of a skeleton. */
export function readSkeletonCursor(cursor: string): SkeletonPosition {
  const [origin = 0n, start = 0n, spanId = 0n] = readNumbersCursor(cursor, 3)
  return { origin: toOrigin(origin), start, spanId: `${spanId}` }
}

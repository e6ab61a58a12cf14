import { SKELETON_COLUMNS } from '../../shared/trace-answers/one-trace.ts'
import type { SkeletonColumn } from '../../shared/trace-answers/one-trace.ts'
import { readNumbersCursor, toNumbersCursor } from './span-cursor.ts'
import { createJsonRows, nearlyJson } from './json-rows.ts'
import type { JsonRows, Origin } from './json-rows.ts'
import { UNCOUNTED_CALLS } from '../store/roll-ups/uncounted-calls.ts'
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
interface SkeletonPosition {
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
interface SkeletonOptions {
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

/** Reads the trace once more: a page has not all that is around a call. */
const uncounted = (traceId: string, ofOwner: string): string => `
  uncounted as materialized (
    select ${UNCOUNTED_CALLS} as span_ids from live_spans
    where trace_id = '${traceId}' ${ofOwner}
    having bool_or(llm_call)
  )`

const shortened = (column: string, max: number): string =>
  `case when octet_length(${column}) <= ${max} then ${column} ` +
  `else left(${column}, ${max - 1}) || '…' end`

/** Exact until the year 2106: a double then no longer has the microseconds. */
const START = "(date_part('epoch', start_time) * 1000000)::int8 * 1000 + start_ns"

interface Column {
  readonly isText: boolean
  readonly sql: string
}

const id = (name: string): Column => ({ isText: true, sql: `encode(int8send(${name}), 'hex')` })
const text = (column: string, max = TEXT_MAX): Column => ({
  isText: true,
  sql: shortened(column, max),
})
const number = (name: string): Column => ({ isText: false, sql: name })
/** JSON has no NaN, and no infinity. */
const dollars = (column: string): Column => ({
  isText: false,
  sql: `case when abs(${column}) < 'infinity' then ${column} end`,
})
const flag = (condition: string): Column => ({ isText: false, sql: `(${condition})::text` })

const SQL_OF: Readonly<Record<Exclude<SkeletonColumn, 'start_offset_ns'>, Column>> = {
  span_id: id('span_id'),
  parent_span_id: id('parent_span_id'),
  name: text('coalesce(title, name)', NAME_MAX),
  kind: number('kind'),
  operation_kind: text('operation_kind'),
  duration_ns: number('duration_ns'),
  status: number('status'),
  error_type: text('error_type'),
  llm_call: flag('llm_call'),
  counted: flag('llm_call and span_id not in (select unnest(span_ids) from uncounted)'),
  model: text('coalesce(response_model, request_model)'),
  agent: text('agent'),
  task: text('task'),
  tool: text('tool'),
  input_tokens: number('input_tokens'),
  output_tokens: number('output_tokens'),
  cache_read_tokens: number('cache_read_tokens'),
  cache_write_tokens: number('cache_write_tokens'),
  reasoning_tokens: number('reasoning_tokens'),
  cost_usd: dollars('reported_cost_usd'),
  computed_cost_usd: dollars('computed_cost_usd'),
  cut: flag('num_nonnulls(dropped_attributes, dropped_events, dropped_links) > 0'),
}
const NAMES = JSON.stringify(SKELETON_COLUMNS)
/** They come behind the start of the span. */
const COLUMNS = SKELETON_COLUMNS.flatMap((name) =>
  name === 'start_offset_ns' ? [] : [{ name, ...SQL_OF[name] }],
)
const FORMAT = nearlyJson(['owner', ...COLUMNS.flatMap(({ name, isText }) => (isText ? name : []))])

/**
 * The columns of a trace's spans in the order of their start, never an attribute or a payload: a
 * page, and where the next one begins. Raises `not_found`.
 */
export async function readSkeleton(
  reader: Reader,
  query: SkeletonQuery,
  { maxBytes = MAX_BYTES, source = UNPRICED }: SkeletonOptions = {},
): Promise<Skeleton> {
  const page = await readPage(reader, query, { maxBytes, source })
  const [rows, last, isTruncated] = [page.rows, page.last(), page.isFull()]
  if (!last && !query.after) throw traceNotFound(query.traceId)
  const origin = rows.origin() ?? { seconds: 0, nanoseconds: 0 }
  const next = isTruncated && last ? toSkeletonCursor({ origin, ...last }) : null
  const head =
    `{"trace_id":"${query.traceId.replaceAll('-', '')}",` +
    `"start_time_unix_nano":"${toNanoseconds(origin)}","columns":${NAMES},"spans":[\n`
  const tail = `\n],"truncated":${isTruncated},"next_cursor":${JSON.stringify(next)}}\n`
  return { pieces: [Buffer.from(head), ...rows.pieces(), Buffer.from(tail)], isTruncated }
}

/**
 * Of organizations that use the same trace id the first by name is shown to the platform, whose own
 * comes before all. That is rare, so it is looked for only where a page has several.
 */
async function readPage(
  reader: Reader,
  query: SkeletonQuery,
  { maxBytes, source }: Required<SkeletonOptions>,
): Promise<Page> {
  const { traceId, after, limit } = query
  const read = async (ofOwner: string): Promise<Page> => {
    const page = createPage({ origin: after?.origin, limit, maxBytes })
    const rows = skeletonQuery(query, { source, ofOwner })
    await reader.copyOut(`copy (${rows}) to stdout (${FORMAT})`, (row) => page.add(row))
    return page
  }
  const isOfFirst = `and organization = (
    select min(organization) from live_spans where trace_id = '${traceId}')`
  if (after) return read(isOfFirst)
  const page = await read('')
  return page.hasSeveralOwners() ? read(isOfFirst) : page
}

interface Page {
  readonly rows: JsonRows
  readonly add: (row: Buffer) => void
  /** The last span that was taken; undefined when there was none. */
  readonly last: () => Place | undefined
  readonly isFull: () => boolean
  readonly hasSeveralOwners: () => boolean
}

interface PageOptions {
  readonly origin: Origin | undefined
  readonly limit: number
  readonly maxBytes: number
}

type Place = Pick<SkeletonPosition, 'start' | 'spanId'>

/** A row has the start, the owner, and then what is shown, of which the id of the span is first. */
function createPage({ origin, limit, maxBytes }: PageOptions): Page {
  const rows = createJsonRows(origin)
  let count = 0
  let isFull = false
  let hasSeveral = false
  let owner: Buffer | undefined
  let last: Buffer | undefined
  let from = 0
  return {
    rows,
    add(row) {
      const timeEnd = endOfTime(row)
      owner ??= row.subarray(timeEnd, endOfText(row, timeEnd + 1) + 1)
      hasSeveral ||= !hasBytes(row, timeEnd, owner)
      if (isFull || hasSeveral) return
      isFull = count === limit || rows.bytes() > maxBytes
      if (isFull) return
      count++
      last = row
      from = timeEnd + owner.length
      rows.add(row, { timeEnd, from })
    },
    last() {
      if (!last) return undefined
      const start = BigInt(last.toString('latin1', 0, endOfTime(last)))
      const hex = last.toString('latin1', from + 1, from + 1 + ID_DIGITS)
      return { start, spanId: `${BigInt.asIntN(64, BigInt(`0x${hex}`))}` }
    },
    isFull: () => isFull,
    hasSeveralOwners: () => hasSeveral,
  }
}

const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
const ID_DIGITS = 16
const NANOSECONDS = 1_000_000_000n

/** For some bytes a loop takes less than a call. */
function endOfTime(row: Buffer): number {
  let at = 0
  while (at < row.length && row[at] !== COMMA) at++
  return at
}

/** Where a quoted text ends that begins there. */
function endOfText(row: Buffer, from: number): number {
  let at = from + 1
  while (at < row.length && row[at] !== QUOTE) at += row[at] === BACKSLASH ? 2 : 1
  return at + 1
}

function hasBytes(row: Buffer, from: number, bytes: Buffer): boolean {
  for (let i = 0; i < bytes.length; i++) if (row[from + i] !== bytes[i]) return false
  return true
}

const SHOWN = COLUMNS.map(({ name, sql }) => `${sql} as ${name}`).join(', ')

/** In an order that no index has: else the planner may walk through all spans by time. */
const skeletonQuery = (
  { traceId, after, limit }: SkeletonQuery,
  { source, ofOwner }: { source: string; ofOwner: string },
): string => `
  with ${uncounted(traceId, ofOwner)}
  select ${START} as start, organization as owner, ${SHOWN}
  from ${source}
  where trace_id = '${traceId}' ${ofOwner} ${after ? isAfter(after) : ''}
  order by start_time + interval '0', priced_spans.span_id limit ${limit + 1}`

function isAfter({ start, spanId }: SkeletonPosition): string {
  const time = timeLiteral(start / 1000n)
  return `and start_time >= ${time} and (start_time, span_id) > (${time}, ${spanId})`
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

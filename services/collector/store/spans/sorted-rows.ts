import { rowOffset } from '../../otlp/row-buffer.ts'
import type { RowBuffer } from '../../otlp/row-buffer.ts'
import {
  ROW_ORGANIZATION,
  ROW_ORGANIZATION_LENGTH,
  ROW_SPAN_ID,
  ROW_TRACE_ID,
} from '../../otlp/span-columns.ts'
import type { CopyStream } from '../../../shared/postgres/copy/copy-connection.ts'
import { COPY_HEADER, COPY_TRAILER } from '../../../shared/postgres/copy/copy-rows.ts'

/**
 * The rows in the order of their keys. All writers of all replicas insert in this one order, so two
 * that have the same spans wait for each other but never in a circle; and rows that arrive in order
 * cost the index least.
 */
export function sortedRows(buffer: RowBuffer): Uint32Array {
  const { rows, keys, scale } = sortByNumbers(buffer)
  for (let from = 0, end = 0; from < rows.length; from = end) {
    const key = Math.floor((keys[from] ?? 0) / scale)
    for (end = from + 1; end < rows.length && Math.floor((keys[end] ?? 0) / scale) === key;) end++
    if (end - from > 1) rows.subarray(from, end).sort((a, b) => compareRows(buffer, a, b))
  }
  return rows
}

interface Sorted {
  readonly rows: Uint32Array
  /** One number for each row, rising: what its key begins with, times `scale`, and the row. */
  readonly keys: Float64Array
  readonly scale: number
}

/** A double holds every whole number of this many bits exactly. */
const NUMBER_BITS = 53
const PREFIX_BITS = 32

/**
 * Sorts one number per row, made of the time, as many of the trace id's first bits as there is room
 * for, and the row. A sort by a function that compares rows takes several times as long, and leaves
 * as much work again to the garbage collector.
 *
 * The number is (time × 2^prefixBits + prefix) × 2^rowBits + row, with time < 2^timeBits, prefix <
 * 2^prefixBits and row < 2^rowBits. Each part is smaller than the unit of the part before it, so
 * numbers compare as the triples (time, prefix, row) do, and the last division gives the row back.
 * The three widths add up to 53 bits at most, so each number is exact. When the time alone does not
 * fit beside the row, its last bits are dropped and the prefix has none: the numbers then compare
 * as rounded times do, which never swaps two times but may make them equal.
 *
 * So the order of the numbers never contradicts that of the keys. It only leaves open the order of
 * rows with the same time and prefix, and `sortedRows` compares the whole keys of those.
 */
function sortByNumbers(buffer: RowBuffer): Sorted {
  const { rows: count, startTimes } = buffer
  let earliest = Infinity
  let latest = -Infinity
  for (let row = 0; row < count; row++) {
    const time = startTimes[row] ?? 0
    if (time < earliest) earliest = time
    if (time > latest) latest = time
  }
  const rowBits = Math.ceil(Math.log2(Math.max(count, 2)))
  const timeBits = Math.floor(Math.log2(latest - earliest + 1)) + 1
  const spare = NUMBER_BITS - rowBits - timeBits
  // Spans of very different times: the time alone has more bits than there are.
  const step = spare < 0 ? 2 ** spare : 1
  const scale = 2 ** rowBits
  const prefixBits = Math.min(PREFIX_BITS, Math.max(0, spare))
  const keys = new Float64Array(count)
  for (let row = 0; row < count; row++) {
    const time = Math.floor(((startTimes[row] ?? 0) - earliest) * step)
    const prefix = prefixBits === 0 ? 0 : prefixOf(buffer, row) >>> (PREFIX_BITS - prefixBits)
    keys[row] = (time * 2 ** prefixBits + prefix) * scale + row
  }
  keys.sort()
  const rows = new Uint32Array(count)
  for (let place = 0; place < count; place++) {
    const key = keys[place] ?? 0
    rows[place] = key - Math.floor(key / scale) * scale
  }
  return { rows, keys, scale }
}

/** The first bits of the trace id, in the order of the database. */
const prefixOf = (buffer: RowBuffer, row: number): number =>
  buffer.bytes.readUInt32BE(rowOffset(buffer, row) + ROW_TRACE_ID)

function compareRows(buffer: RowBuffer, a: number, b: number): number {
  const { bytes, startTimes } = buffer
  const time = (startTimes[a] ?? 0) - (startTimes[b] ?? 0)
  if (time !== 0) return time
  const first = rowOffset(buffer, a)
  const second = rowOffset(buffer, b)
  const from = second + ROW_TRACE_ID
  const order = bytes.compare(
    bytes,
    from,
    from + 16,
    first + ROW_TRACE_ID,
    first + ROW_TRACE_ID + 16,
  )
  if (order !== 0) return order
  // As signed numbers, which is how the database sorts them.
  const left = bytes.readBigInt64BE(first + ROW_SPAN_ID)
  const right = bytes.readBigInt64BE(second + ROW_SPAN_ID)
  if (left !== right) return left < right ? -1 : 1
  return organizationBytes(buffer, a).compare(organizationBytes(buffer, b))
}

/**
 * Makes COPY BINARY streams of rows in the order given, one after the other, through little memory
 * of its own.
 */
export function createCopyStreams(): (buffer: RowBuffer, rows: Uint32Array) => CopyStream {
  const scratch: Scratch = [
    Buffer.allocUnsafeSlow(CHUNK_BYTES),
    Buffer.allocUnsafeSlow(CHUNK_BYTES),
  ]
  return (buffer, rows) => ({
    size: COPY_HEADER.length + sizeOf(buffer, rows) + COPY_TRAILER.length,
    chunks: () => copyChunks(buffer, rows, scratch),
  })
}

function* copyChunks(buffer: RowBuffer, rows: Uint32Array, scratch: Scratch): Generator<Buffer> {
  yield COPY_HEADER
  if (rows.length === buffer.rows && rows.every((row, place) => row === place))
    yield buffer.bytes.subarray(0, buffer.end)
  else yield* gather(buffer, rows, scratch)
  yield COPY_TRAILER
}

const CHUNK_BYTES = 512 * 1024
/** One is filled while the other is on its way. */
type Scratch = readonly [Buffer, Buffer]

function* gather(buffer: RowBuffer, rows: Uint32Array, scratch: Scratch): Generator<Buffer> {
  let [filling, sent] = scratch
  let to = 0
  for (const row of rows) {
    const from = rowOffset(buffer, row)
    const end = rowOffset(buffer, row + 1)
    if (to > 0 && to + end - from > CHUNK_BYTES) {
      yield filling.subarray(0, to)
      ;[filling, sent] = [sent, filling]
      to = 0
    }
    if (end - from > CHUNK_BYTES) yield buffer.bytes.subarray(from, end)
    else to += buffer.bytes.copy(filling, to, from, end)
  }
  if (to > 0) yield filling.subarray(0, to)
}

function sizeOf(buffer: RowBuffer, rows: Uint32Array): number {
  let size = 0
  for (const row of rows) size += rowOffset(buffer, row + 1) - rowOffset(buffer, row)
  return size
}

/** One row's bytes. */
export const rowBytes = (buffer: RowBuffer, row: number): Buffer =>
  buffer.bytes.subarray(rowOffset(buffer, row), rowOffset(buffer, row + 1))

const FIELD_COUNT_BYTES = 2
const FIELD_LENGTH_BYTES = 4

/** The field at a place in a row; undefined for null. */
export function rowField(buffer: RowBuffer, row: number, place: number): Buffer | undefined {
  const { bytes } = buffer
  let at = rowOffset(buffer, row) + FIELD_COUNT_BYTES
  for (let before = 0; before < place; before++) {
    at += FIELD_LENGTH_BYTES + Math.max(bytes.readInt32BE(at), 0)
  }
  const size = bytes.readInt32BE(at)
  const from = at + FIELD_LENGTH_BYTES
  return size < 0 ? undefined : bytes.subarray(from, from + size)
}

/** The end of a row's ids and organization, counted from its beginning. */
const endOfIds = (buffer: RowBuffer, row: number): number =>
  ROW_ORGANIZATION + buffer.bytes.readInt32BE(rowOffset(buffer, row) + ROW_ORGANIZATION_LENGTH)

const organizationBytes = (buffer: RowBuffer, row: number): Buffer =>
  rowBytes(buffer, row).subarray(ROW_ORGANIZATION, endOfIds(buffer, row))

/** What identifies a span and whose it is, as it lies in its row. */
export interface RowIds {
  readonly traceId: Buffer
  readonly spanId: Buffer
  readonly organization: string
}

/** The ids of a row. */
export function rowIds(buffer: RowBuffer, row: number): RowIds {
  const bytes = rowBytes(buffer, row)
  return {
    traceId: bytes.subarray(ROW_TRACE_ID, ROW_TRACE_ID + 16),
    spanId: bytes.subarray(ROW_SPAN_ID, ROW_SPAN_ID + 8),
    organization: organizationBytes(buffer, row).toString(),
  }
}

const WORD_BYTES = 4
/** Of the second half of a key; the first one has 32. */
const KEY_BITS = 21

/**
 * A hash of the ids and the organization of a row, in the 53 bits that a number holds exactly:
 * texts of them would be more work for the garbage collector than the request itself.
 */
export function rowKey(buffer: RowBuffer, row: number): number {
  const { bytes } = buffer
  const start = rowOffset(buffer, row)
  const end = start + endOfIds(buffer, row)
  let first = 0
  let second = 0
  const mix = (word: number): void => {
    first = Math.imul(first ^ word, 0x9e3779b1)
    first ^= first >>> 15
    second = Math.imul(second + word, 0x85ebca6b)
    second ^= second >>> 13
  }
  let at = start + ROW_TRACE_ID
  for (; at + WORD_BYTES <= end; at += WORD_BYTES) mix(bytes.readInt32LE(at))
  for (; at < end; at++) mix(bytes[at] ?? 0)
  return (first >>> 0) * 2 ** KEY_BITS + (second >>> (32 - KEY_BITS))
}

import { rowOffset } from '../otlp/row-buffer.ts'
import type { RowBuffer } from '../otlp/row-buffer.ts'
import { ROW_SPAN_ID, ROW_TRACE_ID } from '../otlp/span-columns.ts'

const COPY_HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const COPY_TRAILER = Buffer.from([0xff, 0xff])

/**
 * The rows in the order of their keys. All writers of all replicas insert in this one order, so two that have the same
 * spans wait for each other but never in a circle; and rows that arrive in order cost the index least.
 */
export function sortedRows(buffer: RowBuffer): Uint32Array {
  const rows = Uint32Array.from({ length: buffer.rows }, (_, row) => row)
  const { startTimes } = buffer
  return rows.sort(
    (a, b) => (startTimes[a] ?? 0) - (startTimes[b] ?? 0) || compareIds(buffer, a, b),
  )
}

function compareIds(buffer: RowBuffer, a: number, b: number): number {
  const { bytes } = buffer
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
  return left < right ? -1 : Number(left > right)
}

/** A complete COPY BINARY stream of these rows; valid until the next one is made. */
export type CopyStream = (buffer: RowBuffer, rows: Uint32Array) => Buffer[]

const SCRATCH_BYTES = 16 << 20

/** Puts rows into a stream through memory of its own, which serves again and again. */
export function createCopyStream(): CopyStream {
  let scratch: Buffer = Buffer.alloc(0)
  const memory = (size: number): Buffer => {
    if (size > SCRATCH_BYTES) return Buffer.allocUnsafeSlow(size)
    if (size > scratch.length) scratch = Buffer.allocUnsafeSlow(Math.min(size * 2, SCRATCH_BYTES))
    return scratch
  }
  return (buffer, rows) => {
    const isInOrder = rows.length === buffer.rows && rows.every((row, place) => row === place)
    if (isInOrder) return [COPY_HEADER, buffer.bytes.subarray(0, buffer.end), COPY_TRAILER]
    const gathered = memory(sizeOf(buffer, rows))
    let to = 0
    for (const row of rows) {
      to += buffer.bytes.copy(gathered, to, rowOffset(buffer, row), rowOffset(buffer, row + 1))
    }
    return [COPY_HEADER, gathered.subarray(0, to), COPY_TRAILER]
  }
}

function sizeOf(buffer: RowBuffer, rows: Uint32Array): number {
  let size = 0
  for (const row of rows) size += rowOffset(buffer, row + 1) - rowOffset(buffer, row)
  return size
}

/** One row's bytes. */
export const rowBytes = (buffer: RowBuffer, row: number): Buffer =>
  buffer.bytes.subarray(rowOffset(buffer, row), rowOffset(buffer, row + 1))

/** The trace and span ids of a row, as they lie in it. */
export function rowIds(buffer: RowBuffer, row: number): { traceId: Buffer; spanId: Buffer } {
  const bytes = rowBytes(buffer, row)
  return {
    traceId: bytes.subarray(ROW_TRACE_ID, ROW_TRACE_ID + 16),
    spanId: bytes.subarray(ROW_SPAN_ID, ROW_SPAN_ID + 8),
  }
}

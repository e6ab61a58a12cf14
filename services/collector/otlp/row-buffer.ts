import { HEAP } from '../memory.ts'
import type { Allocator } from '../memory.ts'
import type { Identity } from './identities.ts'

/** Finished rows of `spans` in COPY BINARY, back to back, and what is needed to find, sort and split them. */
export interface RowBuffer {
  bytes: Buffer
  /** Where `bytes` come from, and more. */
  readonly memory: Allocator
  /** Where the next row goes. */
  end: number
  rows: number
  /** Where each row begins. */
  offsets: Uint32Array
  /** The start of each span, in microseconds since 2000. */
  startTimes: Float64Array
  /** The resources and scopes that the rows refer to. */
  readonly identities: Set<Identity>
}

const FIRST_ROWS = 1024

export function createRowBuffer(bytes: Buffer, memory = HEAP): RowBuffer {
  return {
    bytes,
    memory,
    end: 0,
    rows: 0,
    offsets: new Uint32Array(FIRST_ROWS),
    startTimes: new Float64Array(FIRST_ROWS),
    identities: new Set(),
  }
}

/** Notes a row that begins at `offset`. */
export function noteRow(buffer: RowBuffer, offset: number, startTime: number): void {
  if (buffer.rows === buffer.offsets.length) growIndex(buffer)
  buffer.offsets[buffer.rows] = offset
  buffer.startTimes[buffer.rows] = startTime
  buffer.rows++
}

function growIndex(buffer: RowBuffer): void {
  const offsets = new Uint32Array(buffer.offsets.length * 2)
  const startTimes = new Float64Array(offsets.length)
  offsets.set(buffer.offsets)
  startTimes.set(buffer.startTimes)
  buffer.offsets = offsets
  buffer.startTimes = startTimes
}

/** Where row `row` begins; for the count of rows, where the last one ends. */
export const rowOffset = (buffer: RowBuffer, row: number): number =>
  row < buffer.rows ? (buffer.offsets[row] ?? 0) : buffer.end

/** Takes back the rows from `rows` on, which began at `end`. */
export function truncateRows(buffer: RowBuffer, rows: number, end: number): void {
  buffer.rows = rows
  buffer.end = end
}

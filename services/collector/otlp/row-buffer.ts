import { enlarge, HEAP } from './memory.ts'
import type { Allocator } from './memory.ts'
import type { Identity } from './identities.ts'

/**
 * Finished rows of `spans` in COPY BINARY, back to back, and what is needed to find, sort and split
 * them.
 */
export interface RowBuffer {
  bytes: Buffer
  /** The memory that `bytes` come from, and more. */
  readonly memory: Allocator
  /** The place of the next row. */
  end: number
  rows: number
  /** The beginning of each row. */
  offsets: Uint32Array
  /** The start of each span, in microseconds since 2000. */
  startTimes: Float64Array
  /** The resources and scopes that the rows refer to. */
  readonly identities: Set<Identity>
  /**
   * Memory that nobody uses, as much as the documents of the identities have elsewhere: so it is
   * limited as well.
   */
  readonly ballast: Buffer[]
}

const FIRST_ROWS = 1024
const EMPTY = Buffer.alloc(0)

/** An empty buffer that writes to `bytes` until they do not suffice. */
export function createRowBuffer(bytes: Buffer, memory = HEAP): RowBuffer {
  return {
    bytes,
    memory,
    end: 0,
    rows: 0,
    offsets: new Uint32Array(FIRST_ROWS),
    startTimes: new Float64Array(FIRST_ROWS),
    identities: new Set(),
    ballast: [],
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

/** Notes that rows refer to an identity. Raises `unavailable` when there is no memory for it. */
export function noteIdentity({ identities, ballast, memory }: RowBuffer, identity: Identity): void {
  if (identities.has(identity)) return
  ballast.push(enlarge(memory, EMPTY, { used: 0, size: identity.document.length }))
  identities.add(identity)
}

/** Gives back the memory of a buffer that is not used any more. */
export function releaseRows({ bytes, ballast, memory }: RowBuffer): void {
  for (const held of [bytes, ...ballast]) memory.give(held)
}

/** The beginning of row `row`; for the count of rows, the end of the last one. */
export const rowOffset = (buffer: RowBuffer, row: number): number =>
  row < buffer.rows ? (buffer.offsets[row] ?? 0) : buffer.end

/** Takes back the rows from `rows` on, which began at `end`. */
export function truncateRows(buffer: RowBuffer, rows: number, end: number): void {
  buffer.rows = rows
  buffer.end = end
}

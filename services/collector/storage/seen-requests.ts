import { rowOffset } from '../otlp/row-buffer.ts'
import type { RowBuffer } from '../otlp/row-buffer.ts'
import { TRACE_ID_BYTES } from '../otlp/limits.ts'
import { ROW_SPAN_ID, ROW_TRACE_ID } from '../otlp/span-columns.ts'

const REMEMBERED_MAX = 65_536
const FORGOTTEN_AT_ONCE = REMEMBERED_MAX / 8

/**
 * Tells whether a request that begins with this row came before, by the ids of its first span. A
 * client that gets no answer sends the same bytes again; knowing that saves a commit that would
 * fail.
 */
export function createSeenRequests(): (buffer: RowBuffer, row: number) => boolean {
  const seen = new Set<number>()
  return (buffer, row) => {
    const key = keyOf(buffer, row)
    if (seen.has(key)) return true
    seen.add(key)
    if (seen.size > REMEMBERED_MAX) forget(seen)
    return false
  }
}

const WORD_BYTES = 4
const SECOND_BITS = 21

/**
 * A hash of the two ids in 53 bits, which a number holds. Two requests with the same one are no
 * harm: the second goes the careful way.
 */
function keyOf(buffer: RowBuffer, row: number): number {
  const { bytes } = buffer
  const from = rowOffset(buffer, row)
  let first = 0
  let second = 0
  const mix = (word: number): void => {
    first = Math.imul(first ^ word, 0x9e3779b1)
    first ^= first >>> 15
    second = Math.imul(second + word, 0x85ebca6b)
    second ^= second >>> 13
  }
  for (let at = 0; at < TRACE_ID_BYTES; at += WORD_BYTES) {
    mix(bytes.readInt32LE(from + ROW_TRACE_ID + at))
  }
  mix(bytes.readInt32LE(from + ROW_SPAN_ID))
  mix(bytes.readInt32LE(from + ROW_SPAN_ID + WORD_BYTES))
  return (first >>> 0) * 2 ** SECOND_BITS + (second >>> (32 - SECOND_BITS))
}

function forget(seen: Set<number>): void {
  let left = FORGOTTEN_AT_ONCE
  for (const key of seen) {
    if (left-- === 0) return
    seen.delete(key)
  }
}

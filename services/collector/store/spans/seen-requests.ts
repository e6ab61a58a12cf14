import type { RowBuffer } from '../../otlp/row-buffer.ts'
import { rowKey } from './sorted-rows.ts'

const REMEMBERED_MAX = 65_536
const FORGOTTEN_AT_ONCE = REMEMBERED_MAX / 8

/**
 * Tells whether a request that begins with this row came before, by the ids of its first span and
 * whose it is. A client that gets no answer sends the same bytes again; knowing that saves a commit
 * that would fail. Two requests whose keys are equal by chance are no harm: the second goes the
 * careful way.
 */
export function createSeenRequests(): (buffer: RowBuffer, row: number) => boolean {
  const seen = new Set<number>()
  return (buffer, row) => {
    const key = rowKey(buffer, row)
    if (seen.has(key)) return true
    seen.add(key)
    if (seen.size > REMEMBERED_MAX) forget(seen)
    return false
  }
}

function forget(seen: Set<number>): void {
  let left = FORGOTTEN_AT_ONCE
  for (const key of seen) {
    if (left-- === 0) return
    seen.delete(key)
  }
}

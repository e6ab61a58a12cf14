import type { RowBuffer } from '../otlp/row-buffer.ts'
import { rowOffset } from '../otlp/row-buffer.ts'
import { ROW_TRACE_ID } from '../otlp/span-columns.ts'
import { TRACE_ID_BYTES } from '../otlp/limits.ts'
import { startOfDay } from './partitions.ts'
import type { Day } from './partitions.ts'

/** Rows of a buffer, and the day of each. */
export interface TouchingRows {
  readonly buffer: RowBuffer
  readonly rows: Uint32Array
  readonly dayAt: (row: number) => Day
}

interface DayOfTraces {
  readonly ids: Buffer
  end: number
}

/**
 * The statement that notes which traces these rows belong to, for the roll-ups. It runs in the
 * transaction that commits the rows. One row for each day, with the trace ids back to back; an id
 * may come twice: spans of one trace mostly lie side by side, and a look at the one before costs
 * less than a set.
 */
export function noteTouched({ buffer, rows, dayAt }: TouchingRows): string {
  const days = new Map<Day, DayOfTraces>()
  const isWhole = rows.length === buffer.rows
  let latest: DayOfTraces | undefined
  let latestDay: Day | undefined
  for (let place = 0; place < rows.length; place++) {
    // In the order in which they came, where that is possible: sorted by time, traces interleave.
    const row = isWhole ? place : (rows[place] ?? 0)
    const day = dayAt(row)
    const at = rowOffset(buffer, row) + ROW_TRACE_ID
    if (latest && day === latestDay && endsWith(latest, buffer.bytes, at)) continue
    latest = days.get(day) ?? open(days, day, rows.length)
    latestDay = day
    latest.end += buffer.bytes.copy(latest.ids, latest.end, at, at + TRACE_ID_BYTES)
  }
  const values = [...days].map(valuesOf).join(', ')
  return `insert into touched_traces (day, trace_ids) values ${values}`
}

function open(days: Map<Day, DayOfTraces>, day: Day, rows: number): DayOfTraces {
  const opened = { ids: Buffer.allocUnsafe(rows * TRACE_ID_BYTES), end: 0 }
  days.set(day, opened)
  return opened
}

const valuesOf = ([day, { ids, end }]: [Day, DayOfTraces]): string =>
  `('${startOfDay(day).slice(0, 10)}', '\\x${ids.toString('hex', 0, end)}')`

/** Compares four words: for 16 bytes `Buffer.compare` takes several times as long. */
function endsWith({ ids, end }: DayOfTraces, bytes: Buffer, at: number): boolean {
  const from = end - TRACE_ID_BYTES
  for (let byte = 0; byte < TRACE_ID_BYTES; byte += 4) {
    if (ids.readInt32LE(from + byte) !== bytes.readInt32LE(at + byte)) return false
  }
  return true
}

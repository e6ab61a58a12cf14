import type { RowBuffer } from '../../otlp/row-buffer.ts'
import { rowOffset } from '../../otlp/row-buffer.ts'
import { ROW_ORGANIZATION, ROW_ORGANIZATION_LENGTH, ROW_TRACE_ID } from '../../otlp/span-columns.ts'
import { TRACE_ID_BYTES } from '../../otlp/limits.ts'
import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import { startOfDay } from './partitions.ts'
import type { Day } from './partitions.ts'

/** Rows of a buffer, and the day of each. */
interface TouchingRows {
  readonly buffer: RowBuffer
  readonly rows: Uint32Array
  readonly dayAt: (row: number) => Day
}

/** The traces of one organization that have spans in one day. */
export interface Touched {
  readonly day: Day
  /** In UTF-8. */
  readonly organization: Buffer
  traceIds: Buffer
  end: number
}

/**
 * Which traces these rows belong to, for the roll-ups: for each day and organization the trace ids
 * back to back; an id may come twice: spans of one trace mostly lie side by side, and a look at the
 * one before costs less than a set.
 */
export function touchedBy({ buffer, rows, dayAt }: TouchingRows): Touched[] {
  const all = new Map<string, Touched>()
  const { bytes } = buffer
  const isWhole = rows.length === buffer.rows
  let latest: Touched | undefined
  let before = 0
  for (let place = 0; place < rows.length; place++) {
    // In the order in which they came, where that is possible: sorted by time, traces interleave.
    const row = isWhole ? place : (rows[place] ?? 0)
    const day = dayAt(row)
    const at = rowOffset(buffer, row)
    if (latest?.day === day && isSameTrace(bytes, before, at)) continue
    const placed = { bytes, at, day }
    if (!latest || !isOf(latest, placed)) latest = find(all, placed)
    addTraceId(latest, placed)
    before = at
  }
  return [...all.values()]
}

/** The statement that notes these traces, for the transaction that commits their rows. */
export const noteTouched = (touched: readonly Touched[]): string => `
  insert into touched_traces (organization, day, trace_ids, is_stored)
  values ${touched.map(valuesOf).join(', ')}`

/** The statement that deletes what this transaction has stored of erased traces. */
export const removeErased = (touched: readonly Touched[]): string => `
  select remove_erased(organization, day::date, trace_ids::bytea)
  from (values ${touched.map(valuesOf).join(', ')})
    as noted (organization, day, trace_ids, is_stored)`

/** A row, as it lies in a buffer. */
interface PlacedRow {
  readonly bytes: Buffer
  readonly at: number
  readonly day: Day
}

const organizationEnd = ({ bytes, at }: PlacedRow): number =>
  at + ROW_ORGANIZATION + bytes.readInt32BE(at + ROW_ORGANIZATION_LENGTH)

function isOf({ day, organization }: Touched, row: PlacedRow): boolean {
  const begin = row.at + ROW_ORGANIZATION
  const end = organizationEnd(row)
  if (day !== row.day || organization.length !== end - begin) return false
  return begin === end || organization.compare(row.bytes, begin, end) === 0
}

const FIRST_BYTES = 128 * TRACE_ID_BYTES

function find(all: Map<string, Touched>, row: PlacedRow): Touched {
  const { bytes, at, day } = row
  const organization = bytes.subarray(at + ROW_ORGANIZATION, organizationEnd(row))
  const key = `${day} ${organization.toString('latin1')}`
  const found = all.get(key) ?? {
    day,
    organization,
    traceIds: Buffer.allocUnsafe(FIRST_BYTES),
    end: 0,
  }
  all.set(key, found)
  return found
}

function addTraceId(touched: Touched, { bytes, at }: PlacedRow): void {
  if (touched.end === touched.traceIds.length)
    touched.traceIds = Buffer.concat([touched.traceIds], touched.end * 2)
  const begin = at + ROW_TRACE_ID
  touched.end += bytes.copy(touched.traceIds, touched.end, begin, begin + TRACE_ID_BYTES)
}

const valuesOf = ({ day, organization, traceIds, end }: Touched): string =>
  `(${quote(organization.toString())}, '${startOfDay(day).slice(0, 10)}',
    '\\x${traceIds.toString('hex', 0, end)}', true)`

/**
 * Whether two rows have one trace id and one organization. Compares words: for 16 bytes
 * `Buffer.compare` takes several times as long.
 */
function isSameTrace(bytes: Buffer, one: number, other: number): boolean {
  for (let byte = ROW_TRACE_ID; byte < ROW_TRACE_ID + TRACE_ID_BYTES; byte += 4) {
    if (bytes.readInt32LE(one + byte) !== bytes.readInt32LE(other + byte)) return false
  }
  const length = bytes.readInt32BE(one + ROW_ORGANIZATION_LENGTH)
  if (length !== bytes.readInt32BE(other + ROW_ORGANIZATION_LENGTH)) return false
  for (let byte = ROW_ORGANIZATION; byte < ROW_ORGANIZATION + length; byte++) {
    if (bytes[one + byte] !== bytes[other + byte]) return false
  }
  return true
}

import type { RowBuffer } from '../../otlp/row-buffer.ts'
import { rowOffset } from '../../otlp/row-buffer.ts'
import { ROW_ORGANIZATION, ROW_ORGANIZATION_LENGTH, ROW_TRACE_ID } from '../../otlp/span-columns.ts'
import { TRACE_ID_BYTES } from '../../otlp/limits.ts'
import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { CopyStream } from '../../../shared/postgres/copy/copy-connection.ts'
import { field, streamOf } from '../../../shared/postgres/copy/copy-rows.ts'
import { int32 } from '../../../shared/postgres/copy/wire-messages.ts'
import { viewOf } from './row-reader.ts'
import { startOfDay } from './partitions.ts'
import type { Day } from './partitions.ts'
import type { ServiceOf, TraceRows } from './trace-row.ts'

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
  /** Where the rows of each trace begin, by its id in Latin 1. */
  readonly traces: Map<string, number[]>
}

/** Which traces these rows belong to, for the roll-ups, by day and organization. */
export function touchedBy({ buffer, rows, dayAt }: TouchingRows): Touched[] {
  const all = new Map<string, Touched>()
  const { bytes } = buffer
  const view = viewOf(bytes)
  const isWhole = rows.length === buffer.rows
  let latest: Touched | undefined
  let ofTrace: number[] = []
  for (let place = 0; place < rows.length; place++) {
    // In the order in which they came, where that is possible: sorted by time, traces interleave.
    const row = isWhole ? place : (rows[place] ?? 0)
    const day = dayAt(row)
    const at = rowOffset(buffer, row)
    // Spans of one trace mostly lie side by side.
    const before = ofTrace.at(-1)
    if (latest?.day !== day || before === undefined || !isSameTrace(view, before, at)) {
      const placed = { bytes, at, day }
      if (!latest || !isOf(latest, placed)) latest = find(all, placed)
      const id = bytes.toString('latin1', at + ROW_TRACE_ID, at + ROW_TRACE_ID + TRACE_ID_BYTES)
      ofTrace = latest.traces.get(id) ?? []
      latest.traces.set(id, ofTrace)
    }
    ofTrace.push(at)
  }
  return [...all.values()]
}

const NOTED = ['organization', 'day', 'trace_ids', 'is_stored']
const NOTED_COLUMNS = NOTED.join(', ')

/** The statement that notes these traces, for the transaction that commits their rows. */
export const noteTouched = (touched: readonly Touched[]): string => `
  insert into touched_traces (${NOTED_COLUMNS})
  values ${touched.map((one) => `(${valuesOf(one)}, true)`).join(', ')}`

/** Notes traces with their roll-ups, as `notesOf` has them. */
export const COPY_NOTES = `
  copy touched_traces (${NOTED_COLUMNS}, roll_ups) from stdin (format binary)`

/** Notes of these traces with the roll-ups of each of them, as `rollUpsOf` has them. */
export function notesOf(touched: readonly Touched[], rollUps: readonly Buffer[]): CopyStream {
  const rows = touched.flatMap((one, nr) => [
    FIELD_COUNT,
    ...field(one.organization),
    ...field(int32(one.day - POSTGRES_EPOCH_DAY)),
    ...field(idsOf(one)),
    ...field(TRUE),
    ...field(rollUps[nr]),
  ])
  return streamOf(rows)
}

const FIELD_COUNT = Buffer.from([0, NOTED.length + 1])
const TRUE = Buffer.from([1])
/** The days from 1970 to 2000. */
const POSTGRES_EPOCH_DAY = 10_957

/**
 * For each of these what the rows of its traces add up to, packed. Only for rows of which none was
 * stored before, and of days that nothing else changes any more.
 */
export function rollUpsOf(
  rowsOf: TraceRows,
  { buffer, touched, from }: { buffer: RowBuffer; touched: readonly Touched[]; from: Day },
): Buffer[] {
  const serviceOf = createServices(buffer)
  return touched.map(({ day, traces }) => {
    const rows = rowsOf(buffer.bytes, serviceOf, day < from ? [] : traces.values())
    return Buffer.from(rows)
  })
}

/** Of more a term has the beginning. */
const MAX_SERVICE_BYTES = 512

/** Finds services by the resources that the rows of a buffer refer to. */
function createServices({ identities }: RowBuffer): ServiceOf {
  const services = new Map<bigint, Buffer | null>()
  for (const { kind, idBytes, document } of identities) {
    if (kind !== 'resource') continue
    // The transcoder wrote it: an object with an object of attributes.
    const { attributes } = JSON.parse(document) as { attributes: Record<string, unknown> }
    const name = Object.hasOwn(attributes, 'service.name') ? attributes['service.name'] : null
    if (name === null) services.set(idBytes.readBigInt64BE(), null)
    else if (typeof name === 'string' && Buffer.byteLength(name) <= MAX_SERVICE_BYTES)
      services.set(idBytes.readBigInt64BE(), Buffer.from(name))
  }
  return (resourceId) => services.get(resourceId)
}

/** The statement that deletes what this transaction has stored of erased traces. */
export const removeErased = (touched: readonly Touched[]): string => `
  select remove_erased(organization, day::date, trace_ids::bytea)
  from (values ${touched.map((one) => `(${valuesOf(one)})`).join(', ')})
    as noted (organization, day, trace_ids)`

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

function find(all: Map<string, Touched>, row: PlacedRow): Touched {
  const { bytes, at, day } = row
  const organization = bytes.subarray(at + ROW_ORGANIZATION, organizationEnd(row))
  const key = `${day} ${organization.toString('latin1')}`
  const found = all.get(key) ?? { day, organization, traces: new Map<string, number[]>() }
  all.set(key, found)
  return found
}

const idsOf = ({ traces }: Touched): Buffer => Buffer.from([...traces.keys()].join(''), 'latin1')

const valuesOf = (touched: Touched): string =>
  `${quote(touched.organization.toString())}, '${startOfDay(touched.day).slice(0, 10)}',
    '\\x${idsOf(touched).toString('hex')}'`

/**
 * Whether two rows have one trace id and one organization. Compares words: for 16 bytes
 * `Buffer.compare` takes several times as long.
 */
function isSameTrace(view: DataView, one: number, other: number): boolean {
  for (let byte = ROW_TRACE_ID; byte < ROW_TRACE_ID + TRACE_ID_BYTES; byte += 4) {
    if (view.getInt32(one + byte) !== view.getInt32(other + byte)) return false
  }
  const length = view.getInt32(one + ROW_ORGANIZATION_LENGTH)
  if (length !== view.getInt32(other + ROW_ORGANIZATION_LENGTH)) return false
  for (let byte = ROW_ORGANIZATION; byte < ROW_ORGANIZATION + length; byte++) {
    if (view.getUint8(one + byte) !== view.getUint8(other + byte)) return false
  }
  return true
}

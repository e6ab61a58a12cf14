import { arrayTypes } from '../../../shared/postgres/arrays.ts'
import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { Session } from '../../../shared/postgres/copy/copy-connection.ts'
import { POSTGRES_EPOCH_US } from '../../otlp/limits.ts'
import type { RowBuffer } from '../../otlp/row-buffer.ts'
import { KEY_COLUMNS, SPAN_COLUMNS } from '../../otlp/span-columns.ts'
import { rowField } from './sorted-rows.ts'
import { replaces } from './span-statements.ts'

/**
 * The rows whose spans are committed: true where merging the row would change nothing, and false
 * where it would take the place of the stored one. Costs the database an entry of one index a row.
 */
export async function findStored(
  session: Session,
  buffer: RowBuffer,
  rows: Uint32Array,
): Promise<ReadonlyMap<number, boolean>> {
  const found = await session.rows(selectStored(buffer, rows))
  const stored = found.filter(([, isCurrent]) => isCurrent !== null)
  return new Map(stored.map(([row, isCurrent]) => [Number(row), isCurrent === 'true']))
}

/** The rows of one request, of those in a buffer. */
export interface RequestRows {
  readonly firstRow: number
  readonly endRow: number
}

/**
 * Tells by its first span which rows are those of a request that came before: whoever gets no
 * answer sends the same again, perhaps to another replica.
 */
export async function findRepeats(
  session: Session,
  buffer: RowBuffer,
  requests: readonly RequestRows[],
): Promise<(row: number) => boolean> {
  const firstRows = Uint32Array.from(requests, ({ firstRow }) => firstRow)
  const stored = await findStored(session, buffer, firstRows)
  const isRepeated = new Uint8Array(buffer.rows)
  for (const { firstRow, endRow } of requests) {
    if (stored.has(firstRow)) isRepeated.fill(1, firstRow, endRow)
  }
  return (row) => isRepeated[row] === 1
}

/** Whether repeated requests are to be expected in the next buffers. */
export interface Suspicion {
  readonly isRaised: () => boolean
  /** Notes the outcome of a look at a buffer. */
  readonly note: (hasRepeats: boolean) => void
}

/** As many buffers are looked at before they are copied, after one that had a repeated request. */
const SUSPECTED_BUFFERS = 32

/**
 * Retries come in groups, such as when a network fails. A copy that fails has cost the database as
 * much as one that does not, and a look at the first spans of requests costs little.
 */
export function createSuspicion(): Suspicion {
  let left = 0
  return {
    isRaised: () => left > 0,
    note(hasRepeats) {
      left = hasRepeats ? SUSPECTED_BUFFERS : Math.max(0, left - 1)
    },
  }
}

/** Columns that decide which of two spans stays, with those that identify them. */
const COMPARED = [...KEY_COLUMNS, 'duration_ns', 'start_ns']

const columns = COMPARED.join(', ')
const START = `timestamptz '2000-01-01 00:00:00+00' + given.start_time * interval '1 microsecond'`
const equal = KEY_COLUMNS.map((column) =>
  column === 'start_time' ? `spans.start_time = ${START}` : `spans.${column} = given.${column}`,
).join(' and ')

function selectStored(buffer: RowBuffer, rows: Uint32Array): string {
  const arrays = COMPARED.map((column) => arrayOf(buffer, rows, column))
  const [earliest, latest] = timesOf(buffer, rows)
  // A subquery for each row: the planner could turn a join around and read all that is stored. The
  // times spare it all other days.
  return `
    select given.row::text, (
      select not coalesce(${replaces('given', 'spans')}, false) from spans
      where ${equal} and spans.start_time between '${earliest}' and '${latest}'
    )::text
    from unnest(array[${rows.join()}]::int4[], ${arrays.join()}) as given (row, ${columns})`
}

/** The type of a column as it is sent, and its values as text. */
interface SentColumn {
  readonly type: string
  readonly toText: (field: Buffer) => string
}

const INT8: SentColumn = { type: 'int8', toText: (field) => field.readBigInt64BE().toString() }

const SENT: Readonly<Record<string, SentColumn>> = {
  // In microseconds since 2000.
  start_time: INT8,
  trace_id: { type: 'uuid', toText: (field) => field.toString('hex') },
  span_id: INT8,
  organization: { type: 'text', toText: (field) => field.toString() },
  duration_ns: INT8,
  start_ns: { type: 'int2', toText: (field) => String(field.readInt16BE()) },
}

function arrayOf(buffer: RowBuffer, rows: Uint32Array, column: string): string {
  const { type, toText } = SENT[column] ?? INT8
  const place = SPAN_COLUMNS.indexOf(column)
  const values = Array.from(rows, (row) => {
    const field = rowField(buffer, row, place)
    return field ? toText(field) : null
  })
  // Only texts may have what an array's elements are quoted for.
  const array =
    type === 'text'
      ? quote(arrayTypes.texts.serialize(values))
      : `'{${values.map((value) => value ?? 'NULL').join()}}'`
  return `${array}::${type}[]`
}

/** The first and the last start of the rows, in ISO 8601, to a millisecond more. */
function timesOf({ startTimes }: RowBuffer, rows: Uint32Array): [string, string] {
  let earliest = Infinity
  let latest = -Infinity
  for (const row of rows) {
    const time = startTimes[row] ?? 0
    if (time < earliest) earliest = time
    if (time > latest) latest = time
  }
  const toIso = (microseconds: number): string =>
    new Date((microseconds + POSTGRES_EPOCH_US) / 1000).toISOString()
  return [toIso(earliest - 1000), toIso(latest + 1000)]
}

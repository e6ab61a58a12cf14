import { arrayTypes } from '../../../shared/postgres/arrays.ts'
import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { Session } from '../../../shared/postgres/copy/copy-connection.ts'
import { POSTGRES_EPOCH_US } from '../../otlp/limits.ts'
import type { RowBuffer } from '../../otlp/row-buffer.ts'
import { KEY_COLUMNS, SPAN_COLUMNS } from '../../otlp/span-columns.ts'
import { rowField, rowKey } from './sorted-rows.ts'
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

/** What a look says of the rows of a buffer. */
interface Look {
  /** It is of a request that came before. */
  readonly isRepeated: (row: number) => boolean
  /** A span with its identity is stored, or comes with it: it cannot be copied. */
  readonly isKnown: (row: number) => boolean
}

/** Looks at no more ends of traces at a time. */
const ROOTS_MAX = 1000

/**
 * Looks at the first span of each request: whoever gets no answer sends the same again, perhaps to
 * another replica. And at the root spans that have an end: programs that send a root span when it
 * begins send it again when it ends, and it takes the place of the first one. The rows are in the
 * order of their keys.
 */
export async function lookAtRows(
  session: Session,
  buffer: RowBuffer,
  { rows, requests }: { readonly rows: Uint32Array; readonly requests: readonly RequestRows[] },
): Promise<Look> {
  const roots = rows.filter((row) => isEndedRoot(buffer, row)).subarray(0, ROOTS_MAX)
  const looked = new Set([...requests.map(({ firstRow }) => firstRow), ...roots])
  const stored = await findStored(session, buffer, Uint32Array.from(looked))
  const isRepeated = new Uint8Array(buffer.rows)
  for (const { firstRow, endRow } of requests) {
    if (stored.get(firstRow) === true) isRepeated.fill(1, firstRow, endRow)
  }
  const isKnown = new Uint8Array(buffer.rows)
  for (const row of stored.keys()) isKnown[row] = 1
  rows.forEach((row, place) => {
    const next = rows[place + 1]
    if (next !== undefined && isSameSpan(buffer, row, next)) isKnown[row] = isKnown[next] = 1
  })
  return { isRepeated: (row) => isRepeated[row] === 1, isKnown: (row) => isKnown[row] === 1 }
}

const PARENT = SPAN_COLUMNS.indexOf('parent_span_id')
const DURATION = SPAN_COLUMNS.indexOf('duration_ns')

const isEndedRoot = (buffer: RowBuffer, row: number): boolean =>
  rowField(buffer, row, PARENT) === undefined && rowField(buffer, row, DURATION) !== undefined

/** Where two are taken for the same that are not, they are merged, which says it exactly. */
const isSameSpan = (buffer: RowBuffer, a: number, b: number): boolean =>
  buffer.startTimes[a] === buffer.startTimes[b] && rowKey(buffer, a) === rowKey(buffer, b)

/** Whether rows that are known are to be expected in the next buffers. */
export interface Suspicion {
  readonly isRaised: () => boolean
  /** Notes whether a look at a buffer found any. */
  readonly note: (hasFound: boolean) => void
}

/** As many buffers are looked at before they are copied, after one that had some. */
const SUSPECTED_BUFFERS = 32

/**
 * Retries come in groups, such as when a network fails, and ends of runs while there are runs. A
 * copy that fails has cost the database as much as one that does not, and a line of its log; a look
 * costs little.
 */
export function createSuspicion(): Suspicion {
  let left = 0
  return {
    isRaised: () => left > 0,
    note(hasFound) {
      left = hasFound ? SUSPECTED_BUFFERS : Math.max(0, left - 1)
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

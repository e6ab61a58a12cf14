import { SPAN_COLUMNS } from '../../otlp/span-columns.ts'

const FIELD_COUNT_BYTES = 2
const LENGTH_BYTES = 4
const TWO_POW_32 = 2 ** 32

/** The place of a column in a row. */
export const placeOf = (column: string): number => SPAN_COLUMNS.indexOf(column)

/** The status of a span that failed. */
export const FAILED = 2

/** Reads the fields of one row after the other, as they lie in COPY BINARY. */
export interface RowReader {
  /** Rows that stay where they are while they are read. */
  use(bytes: Buffer): void
  bytes(): Buffer
  /** Goes to the row that begins there. */
  open(at: number): void
  /** Where a field begins in `bytes`. */
  begin(place: number): number
  /** Its bytes; less than none for null. */
  size(place: number): number
  isTrue(place: number): boolean
  int2(place: number): number
  /** An int8 as a double: exact where that is a safe integer. */
  int8(place: number): number
  float8(place: number): number
  bigint(place: number): bigint
  /** Compares so many bytes from one place in `bytes` on with those from another on. */
  isSame(one: number, other: number, size: number): boolean
}

/** The same bytes, of which numbers are read and written in half the time. */
export const viewOf = ({ buffer, byteOffset, length }: Buffer): DataView =>
  new DataView(buffer, byteOffset, length)

/** Reads up to the column with the last place. */
export function createRowReader(lastPlace: number): RowReader {
  let bytes: Buffer = Buffer.alloc(0)
  let view = viewOf(bytes)
  const begins = new Uint32Array(lastPlace + 1)
  const sizes = new Int32Array(lastPlace + 1)
  const begin = (place: number): number => begins[place] ?? 0
  return {
    use(given) {
      bytes = given
      view = viewOf(given)
    },
    bytes: () => bytes,
    open(start) {
      let at = start + FIELD_COUNT_BYTES
      for (let place = 0; place <= lastPlace; place++) {
        const size = view.getInt32(at)
        at += LENGTH_BYTES
        begins[place] = at
        sizes[place] = size
        if (size > 0) at += size
      }
    },
    begin,
    size: (place) => sizes[place] ?? -1,
    isTrue: (place) => bytes[begin(place)] === 1,
    int2: (place) => view.getInt16(begin(place)),
    int8: (place) => view.getInt32(begin(place)) * TWO_POW_32 + view.getUint32(begin(place) + 4),
    float8: (place) => view.getFloat64(begin(place)),
    bigint: (place) => view.getBigInt64(begin(place)),
    isSame(one, other, size) {
      for (let at = 0; at < size; at++) if (bytes[one + at] !== bytes[other + at]) return false
      return true
    },
  }
}

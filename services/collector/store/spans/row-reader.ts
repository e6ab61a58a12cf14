import { SPAN_COLUMNS } from '../../otlp/span-columns.ts'

const FIELD_COUNT_BYTES = 2
const LENGTH_BYTES = 4
const TWO_POW_32 = 2 ** 32

/** The place of a column in a row. */
export const placeOf = (column: string): number => SPAN_COLUMNS.indexOf(column)

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
  bigint(place: number): bigint
}

/** Reads up to the column with the last place. */
export function createRowReader(lastPlace: number): RowReader {
  let bytes: Buffer = Buffer.alloc(0)
  const begins = new Uint32Array(lastPlace + 1)
  const sizes = new Int32Array(lastPlace + 1)
  const begin = (place: number): number => begins[place] ?? 0
  return {
    use: (given) => void (bytes = given),
    bytes: () => bytes,
    open(start) {
      let at = start + FIELD_COUNT_BYTES
      for (let place = 0; place <= lastPlace; place++) {
        const size = bytes.readInt32BE(at)
        at += LENGTH_BYTES
        begins[place] = at
        sizes[place] = size
        if (size > 0) at += size
      }
    },
    begin,
    size: (place) => sizes[place] ?? -1,
    isTrue: (place) => bytes[begin(place)] === 1,
    int2: (place) => bytes.readInt16BE(begin(place)),
    int8: (place) =>
      bytes.readInt32BE(begin(place)) * TWO_POW_32 + bytes.readUInt32BE(begin(place) + 4),
    bigint: (place) => bytes.readBigInt64BE(begin(place)),
  }
}

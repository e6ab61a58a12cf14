/** The form that a column of COPY's text format takes in JSON; an SQL null is always null. */
export type JsonColumn =
  | 'number'
  | 'text'
  | 'flag'
  /** Of an int8 that went through `int8send`: sixteen hexadecimal digits. */
  | 'id'
  /** Nanoseconds since 1970, shown as those since the first row's, or since `origin`. */
  | 'time'

/** A time, to the nanosecond. */
export interface Origin {
  /** Since 1970. */
  readonly seconds: number
  readonly nanoseconds: number
}

/** Rows of JSON, in the pieces in which they were written. */
export interface JsonRows {
  /** Takes the values from there on of a row as COPY's text format has it. */
  add(row: Buffer, from: number): void
  bytes(): number
  pieces(): Buffer[]
  /** The time that the `time` columns are counted from; undefined before the first row. */
  origin(): Origin | undefined
}

const TAB = 0x09
const NEWLINE = 0x0a
const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const BACKSLASH = 0x5c
const LETTER_N = 0x4e
const LETTER_T = 0x74
const LETTER_V = 0x76
const SPACE = 0x20
const PIECE_BYTES = 1 << 18
/** A control character becomes `\u0001`. */
const LARGEST_ESCAPE = 6
/** What a column may take beside its text: quotes, a comma, `false`, or a time. */
const COLUMN_BYTES = 24

/** Turns rows of COPY into arrays of JSON without an object or a string for each of their values. */
export function createJsonRows(columns: readonly JsonColumn[], given?: Origin): JsonRows {
  const full: Buffer[] = []
  let out = Buffer.allocUnsafe(PIECE_BYTES)
  let end = 0
  let fullBytes = 0
  let origin = given

  function makeRoom(bytes: number): void {
    if (out.length - end >= bytes) return
    full.push(out.subarray(0, end))
    fullBytes += end
    out = Buffer.allocUnsafe(Math.max(PIECE_BYTES, bytes))
    end = 0
  }

  function writeValue(row: Buffer, { from, to, column }: Value): number {
    if (isNull(row, from)) return put(out, end, 'null')
    switch (column) {
      case 'text':
        return writeText(out, end, { row, from, to })
      case 'flag':
        return put(out, end, row[from] === LETTER_T ? 'true' : 'false')
      case 'id':
        return writeId(out, end, { row, from, to })
      case 'time':
        return put(out, end, `${sinceOrigin(row, from, to)}`)
      case 'number':
        return writeNumber(out, end, { row, from, to })
    }
  }

  function sinceOrigin(row: Buffer, from: number, to: number): number {
    const time = readTime(row, from, to)
    origin ??= time
    return (time.seconds - origin.seconds) * 1e9 + time.nanoseconds - origin.nanoseconds
  }

  return {
    add(row, first) {
      makeRoom(row.length * LARGEST_ESCAPE + columns.length * COLUMN_BYTES + COLUMN_BYTES)
      end = put(out, end, fullBytes + end === 0 ? '[' : ',\n[')
      let from = first
      for (const [index, column] of columns.entries()) {
        const to = endOfValue(row, from)
        if (index > 0) out[end++] = COMMA
        end = writeValue(row, { from, to, column })
        from = to + 1
      }
      end = put(out, end, ']')
    },
    bytes: () => fullBytes + end,
    pieces: () => [...full, out.subarray(0, end)],
    origin: () => origin,
  }
}

interface Value {
  readonly from: number
  readonly to: number
  readonly column: JsonColumn
}

type Source = { readonly row: Buffer } & Omit<Value, 'column'>

function endOfValue(row: Buffer, from: number): number {
  let at = from
  while (at < row.length && row[at] !== TAB && row[at] !== NEWLINE) at++
  return at
}

/** The decimal digits of nanoseconds since 1970, of which a number cannot hold all. */
function readTime(row: Buffer, from: number, to: number): Origin {
  const sign = row[from] === MINUS ? -1 : 1
  const begin = sign < 0 ? from + 1 : from
  const middle = Math.max(begin, to - 9)
  return {
    seconds: sign * readDigits(row, begin, middle),
    nanoseconds: sign * readDigits(row, middle, to),
  }
}

function readDigits(row: Buffer, from: number, to: number): number {
  let value = 0
  for (let at = from; at < to; at++) value = value * 10 + (row[at] ?? ZERO) - ZERO
  return value
}

const isNull = (row: Buffer, from: number): boolean =>
  row[from] === BACKSLASH && row[from + 1] === LETTER_N

/** ASCII alone. Returns where it ends, as all that write here. */
function put(out: Buffer, at: number, text: string): number {
  for (let index = 0; index < text.length; index++) out[at + index] = text.charCodeAt(index)
  return at + text.length
}

/** A double that is not a number is a text. */
function writeNumber(out: Buffer, at: number, { row, from, to }: Source): number {
  const last = row[to - 1] ?? 0
  if (last < ZERO || last > NINE) return put(out, at, `"${row.toString('latin1', from, to)}"`)
  return copyShort(out, at, { row, from, to })
}

/** `\\x` and the digits. */
function writeId(out: Buffer, at: number, { row, from, to }: Source): number {
  out[at] = QUOTE
  const end = copyShort(out, at + 1, { row, from: from + 3, to })
  out[end] = QUOTE
  return end + 1
}

/** For some bytes a loop takes less than a call. */
function copyShort(out: Buffer, at: number, { row, from, to }: Source): number {
  for (let place = from; place < to; place++) out[at + place - from] = row[place] ?? 0
  return at + to - from
}

/** The escapes of COPY's text format are those of JSON, but `\v`. */
function writeText(out: Buffer, at: number, { row, from, to }: Source): number {
  let end = at
  out[end++] = QUOTE
  for (let place = from; place < to; place++) {
    const byte = row[place] ?? 0
    if (byte === BACKSLASH && row[place + 1] === LETTER_V) {
      end = put(out, end, '\\u000b')
      place++
    } else if (byte === BACKSLASH) {
      out[end++] = BACKSLASH
      out[end++] = row[++place] ?? BACKSLASH
    } else if (byte === QUOTE) {
      end = put(out, end, '\\"')
    } else if (byte < SPACE) {
      end = put(out, end, `\\u00${byte.toString(16).padStart(2, '0')}`)
    } else out[end++] = byte
  }
  out[end++] = QUOTE
  return end
}

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

/** The value of a row that is read, and the memory that its JSON is written to. */
interface Work {
  row: Buffer
  /** Where the value begins and ends. */
  from: number
  to: number
  out: Buffer
  /** Where the JSON ends. */
  end: number
}

/**
 * Turns rows of COPY into arrays of JSON without an object or a string for each of their values.
 */
export function createJsonRows(columns: readonly JsonColumn[], given?: Origin): JsonRows {
  const full: Buffer[] = []
  const none = Buffer.alloc(0)
  const work: Work = { row: none, from: 0, to: 0, out: Buffer.allocUnsafe(PIECE_BYTES), end: 0 }
  let fullBytes = 0
  let origin = given

  function makeRoom(bytes: number): void {
    const { out, end } = work
    if (out.length - end >= bytes) return
    full.push(out.subarray(0, end))
    fullBytes += end
    work.out = Buffer.allocUnsafe(Math.max(PIECE_BYTES, bytes))
    work.end = 0
  }

  function writeTime(): void {
    const time = readTime(work)
    origin ??= time
    const passed = (time.seconds - origin.seconds) * 1e9 + time.nanoseconds - origin.nanoseconds
    put(work, String(passed))
  }

  function writeValue(column: JsonColumn | undefined): void {
    if (isNull(work)) put(work, 'null')
    else if (column === 'text') writeText(work)
    else if (column === 'number') writeNumber(work)
    else if (column === 'id') writeId(work)
    else if (column === 'time') writeTime()
    else put(work, work.row[work.from] === LETTER_T ? 'true' : 'false')
  }

  return {
    add(row, first) {
      makeRoom(row.length * LARGEST_ESCAPE + columns.length * COLUMN_BYTES + COLUMN_BYTES)
      work.row = row
      work.to = first - 1
      put(work, fullBytes + work.end === 0 ? '[' : ',\n[')
      for (let column = 0; column < columns.length; column++) {
        nextValue(work)
        if (column > 0) work.out[work.end++] = COMMA
        writeValue(columns[column])
      }
      put(work, ']')
    },
    bytes: () => fullBytes + work.end,
    pieces: () => [...full, work.out.subarray(0, work.end)],
    origin: () => origin,
  }
}

function nextValue(work: Work): void {
  const { row } = work
  let at = work.to + 1
  work.from = at
  while (at < row.length && row[at] !== TAB && row[at] !== NEWLINE) at++
  work.to = at
}

const isNull = ({ row, from }: Work): boolean =>
  row[from] === BACKSLASH && row[from + 1] === LETTER_N

/** The decimal digits of nanoseconds since 1970, of which a number cannot hold all. */
function readTime({ row, from, to }: Work): Origin {
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

/** ASCII alone. */
function put(work: Work, text: string): void {
  const { out, end } = work
  for (let index = 0; index < text.length; index++) out[end + index] = text.charCodeAt(index)
  work.end = end + text.length
}

/** A double that is not a number is a text. */
function writeNumber(work: Work): void {
  const { row, from, to } = work
  const last = row[to - 1] ?? 0
  if (last < ZERO || last > NINE) put(work, `"${row.toString('latin1', from, to)}"`)
  else copyValue(work, from)
}

/** `\\x` and the digits. */
function writeId(work: Work): void {
  work.out[work.end++] = QUOTE
  copyValue(work, work.from + 3)
  work.out[work.end++] = QUOTE
}

/** For some bytes a loop takes less than a call. */
function copyValue(work: Work, from: number): void {
  const { row, to, out, end } = work
  for (let place = from; place < to; place++) out[end + place - from] = row[place] ?? 0
  work.end = end + to - from
}

/** A byte that is neither escaped nor begins an escape. */
const isPlain = (byte: number): boolean => byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH

/** The escapes of COPY's text format are those of JSON, but `\v`. */
function writeText(work: Work): void {
  const { row, from, to, out } = work
  let { end } = work
  out[end++] = QUOTE
  let place = from
  for (; place < to; place++) {
    const byte = row[place] ?? 0
    if (!isPlain(byte)) break
    out[end++] = byte
  }
  work.end = end
  if (place < to) writeEscaped(work, place)
  out[work.end++] = QUOTE
}

function writeEscaped(work: Work, from: number): void {
  const { row, to, out } = work
  for (let place = from; place < to; place++) {
    const byte = row[place] ?? 0
    if (isPlain(byte)) out[work.end++] = byte
    else if (byte === QUOTE) put(work, '\\"')
    else if (byte !== BACKSLASH) put(work, `\\u00${byte.toString(16).padStart(2, '0')}`)
    else if (row[++place] === LETTER_V) put(work, '\\u000b')
    else {
      out[work.end++] = BACKSLASH
      out[work.end++] = row[place] ?? BACKSLASH
    }
  }
}

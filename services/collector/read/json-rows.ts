/** A time, to the nanosecond. */
export interface Origin {
  /** Since 1970. */
  readonly seconds: number
  readonly nanoseconds: number
}

/**
 * The options of a COPY whose rows are nearly JSON: texts, which `quoted` names, are escaped as
 * JSON has it, but for control characters.
 */
export const nearlyJson = (quoted: readonly string[]): string =>
  `format csv, escape '\\', null 'null', force_quote (${quoted.join(', ')})`

/** Rows of JSON, in the pieces in which they were written. */
export interface JsonRows {
  /**
   * Takes a row as `nearlyJson` has it, which begins with a time: nanoseconds since 1970, up to
   * `timeEnd`. Its values from `from` on come behind the nanoseconds since the first row's time, or
   * since the given one.
   */
  add(row: Buffer, place: { readonly timeEnd: number; readonly from: number }): void
  bytes(): number
  pieces(): Buffer[]
  /** The time that is counted from; undefined before the first row. */
  origin(): Origin | undefined
}

const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const SPACE = 0x20
const PIECE_BYTES = 1 << 18
/** A control character becomes `\u0001`. */
const LARGEST_ESCAPE = 6
/** What a row may take beside its values: brackets, a comma and a time. */
const ROW_BYTES = 40
/** Turns rows of COPY into arrays of JSON without an object or a string for their values. */
export function createJsonRows(given?: Origin): JsonRows {
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

  /** ASCII alone. */
  function put(text: string): void {
    for (let index = 0; index < text.length; index++) out[end + index] = text.charCodeAt(index)
    end += text.length
  }

  return {
    add(row, { timeEnd, from }) {
      makeRoom(row.length * LARGEST_ESCAPE + ROW_BYTES)
      const time = readTime(row, timeEnd)
      origin ??= time
      const passed = (time.seconds - origin.seconds) * 1e9 + time.nanoseconds - origin.nanoseconds
      put(fullBytes + end === 0 ? '[' : ',\n[')
      put(String(passed))
      out[end++] = COMMA
      end = writeValues(row, from, { out, end })
      put(']')
    },
    bytes: () => fullBytes + end,
    pieces: () => [...full, out.subarray(0, end)],
    origin: () => origin,
  }
}

/** The decimal digits of nanoseconds since 1970, of which a number cannot hold all. */
function readTime(row: Buffer, to: number): Origin {
  const sign = row[0] === MINUS ? -1 : 1
  const begin = sign < 0 ? 1 : 0
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

const DIGITS = Buffer.from('0123456789abcdef')

/**
 * Writes the values of a row, without the newline at its end, and returns where they end. For some
 * bytes a loop takes less than a call.
 */
function writeValues(
  row: Buffer,
  from: number,
  { out, end }: { out: Buffer; end: number },
): number {
  const to = row.length - 1
  let place = end
  for (let at = from; at < to; at++) {
    const byte = row[at] ?? 0
    if (byte >= SPACE) out[place++] = byte
    else place = writeControl(byte, out, place)
  }
  return place
}

/** Control characters are within texts only. */
function writeControl(byte: number, out: Buffer, at: number): number {
  out.write('\\u00', at, 'latin1')
  out[at + 4] = DIGITS[byte >> 4] ?? ZERO
  out[at + 5] = DIGITS[byte & 15] ?? ZERO
  return at + LARGEST_ESCAPE
}

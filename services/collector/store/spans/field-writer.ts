import type { FieldList } from './field-list.ts'
import { viewOf } from './row-reader.ts'

const TEXT_OID = 25
const TWO_POW_32 = 2 ** 32
const INT8_BYTES = 8
const INT4_BYTES = 4
const INT2_BYTES = 2

/** What stands before texts that have nothing before them. */
export const NO_PREFIX = Buffer.alloc(0)

/** A list in an array of texts, and what stands before each of its texts. */
export interface PrefixedList {
  readonly prefix: Buffer
  readonly list: FieldList
  /** The first of them, so many. */
  readonly count: number
}

/** Writes rows for COPY BINARY, field after field. */
export interface FieldWriter {
  /** Forgets what was written. What is copied is in `source`. */
  begin(source: Buffer): void
  /** So many bytes were written. */
  end(): number
  /** Goes back to where the writer was. */
  goTo(at: number): void
  byte(value: number): void
  int4(value: number): void
  /** As the field count of a row. */
  int2(value: number): void
  /** A safe integer; null for null. */
  int8(value: number | null): void
  /** From the source, so many bytes; less than none for null. */
  copy(begin: number, size: number): void
  bytes(value: Buffer | null): void
  /** Bytes without a length before them: of the source where none are given. */
  raw(begin: number, size: number, from?: Buffer): void
  /** All of it, until it is written anew. */
  written(): Buffer
}

const FIRST_BYTES = 64 * 1024

/** Keeps its memory; makes no object for a field, which would cost more than all else. */
export function createFieldWriter(): FieldWriter {
  let source: Buffer = Buffer.alloc(0)
  let target = Buffer.allocUnsafeSlow(FIRST_BYTES)
  let view = viewOf(target)
  let at = 0
  const reserve = (size: number): void => {
    if (at + size <= target.length) return
    const larger = Buffer.allocUnsafeSlow((at + size) * 2)
    target.copy(larger, 0, 0, at)
    target = larger
    view = viewOf(target)
  }
  const int4 = (value: number): void => {
    reserve(INT4_BYTES)
    view.setInt32(at, value)
    at += INT4_BYTES
  }
  const raw = (begin: number, size: number, from = source): void => {
    reserve(size)
    // Most are short: a call of the runtime takes longer.
    for (let byte = begin; byte < begin + size; byte++) target[at++] = from[byte] ?? 0
  }
  return {
    begin(given) {
      source = given
      at = 0
    },
    end: () => at,
    goTo: (place) => void (at = place),
    byte(value) {
      reserve(1)
      target[at++] = value
    },
    int4,
    int2(value) {
      reserve(INT2_BYTES)
      view.setInt16(at, value)
      at += INT2_BYTES
    },
    int8(value) {
      int4(value === null ? -1 : INT8_BYTES)
      if (value === null) return
      reserve(INT8_BYTES)
      const high = Math.floor(value / TWO_POW_32)
      view.setInt32(at, high)
      view.setInt32(at + INT4_BYTES, value - high * TWO_POW_32)
      at += INT8_BYTES
    },
    copy(begin, size) {
      int4(size)
      if (size > 0) raw(begin, size)
    },
    bytes(value) {
      int4(value === null ? -1 : value.length)
      if (value !== null) raw(0, value.length, value)
    },
    raw,
    written: () => target.subarray(0, at),
  }
}

/** Writes an array of texts: of each of these lists, and a last one. */
export function writeTexts(
  writer: FieldWriter,
  lists: readonly PrefixedList[],
  last?: Buffer,
): void {
  const texts = lists.reduce((sum, { count }) => sum + count, last === undefined ? 0 : 1)
  const lengthAt = writer.end()
  writer.int4(0)
  writer.int4(texts === 0 ? 0 : 1)
  writer.int4(0)
  writer.int4(TEXT_OID)
  if (texts > 0) {
    writer.int4(texts)
    writer.int4(1)
  }
  for (const { prefix, list, count } of lists) {
    for (let nr = 0; nr < count; nr++) {
      writer.int4(prefix.length + list.size(nr))
      writer.raw(0, prefix.length, prefix)
      writer.raw(list.begin(nr), list.size(nr))
    }
  }
  if (last !== undefined) writer.bytes(last)
  writeLength(writer, lengthAt)
}

/** Writes, where there was room for it, how many bytes were written since. */
export function writeLength(writer: FieldWriter, lengthAt: number): void {
  const end = writer.end()
  writer.goTo(lengthAt)
  writer.int4(end - lengthAt - INT4_BYTES)
  writer.goTo(end)
}

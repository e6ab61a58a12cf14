import { isUtf8 } from 'node:buffer'
import { MAX_STRING_BYTES } from '../../../../services/collector/otlp/limits.ts'
import { cut, cutMark } from './json-string.ts'
import { reserve } from './tape.ts'
import type { Tape } from './tape.ts'

/**
 * Fields of a row in PostgreSQL's COPY BINARY format: a length of four bytes (-1 for null), then
 * the value, both big-endian. The fixed-width writers rely on the room that the row has reserved
 * for all of them together.
 */

/** Room for a length and eight bytes of value. */
export const FIXED_FIELD_BYTES = 12

function writeInt32(tape: Tape, value: number): void {
  tape.outView.setInt32(tape.to, value)
  tape.to += 4
}

export function writeNull(tape: Tape): void {
  writeInt32(tape, -1)
}

export function writeInt2Field(tape: Tape, value: number): void {
  writeInt32(tape, 2)
  tape.outView.setInt16(tape.to, value)
  tape.to += 2
}

export function writeBoolField(tape: Tape, value: boolean): void {
  writeInt32(tape, 1)
  tape.outView.setInt8(tape.to++, value ? 1 : 0)
}

/** An int8 of two halves of 32 bits. */
export function writeInt8Halves(tape: Tape, high: number, low: number): void {
  writeInt32(tape, 8)
  writeInt32(tape, high)
  writeInt32(tape, low)
}

/** An int8 of a whole number within 2^53. */
export function writeInt8Field(tape: Tape, value: number): void {
  writeInt8Halves(tape, Math.floor(value / 4_294_967_296), value | 0)
}

/** An int8 that is null when the value is 0, protobuf's "not given". */
export function writeOptionalInt8Field(tape: Tape, value: number): void {
  if (value === 0) writeNull(tape)
  else writeInt8Halves(tape, Math.floor(value / 4_294_967_296), value >>> 0)
}

export function writeFloat8Field(tape: Tape, value: number): void {
  writeInt32(tape, 8)
  tape.outView.setFloat64(tape.to, value)
  tape.to += 8
}

/** `size` bytes of the request as they are: ids. */
export function writeBytesField(tape: Tape, from: number, size: number): void {
  writeInt32(tape, size)
  copyBytes(tape, from, size)
  tape.to += size
}

/** One bit of each byte of a word. */
const LOW_BITS = 0x01010101
const HIGH_BITS = 0x80808080
const [ASCII, NOT_ASCII, HAS_ZERO] = [0, 1, 2]

/**
 * Copies `size` bytes of the request to where the next byte goes, four at a time. Returns what is
 * in them.
 */
function copyBytes(tape: Tape, from: number, size: number): number {
  const { srcView, outView, to } = tape
  let seen = 0
  let zeros = 0
  let i = 0
  for (; i + 4 <= size; i += 4) {
    const word = srcView.getInt32(from + i, true)
    outView.setInt32(to + i, word, true)
    seen |= word
    zeros |= (word - LOW_BITS) & ~word
  }
  for (; i < size; i++) {
    const byte = srcView.getUint8(from + i)
    outView.setUint8(to + i, byte)
    seen |= byte
    zeros |= (byte - 1) & ~byte
  }
  if ((zeros & HIGH_BITS) !== 0) return HAS_ZERO
  return (seen & HIGH_BITS) === 0 ? ASCII : NOT_ASCII
}

const REPLACEMENT = '\ufffd'

/** A text field; what PostgreSQL cannot hold as text, U+0000 and invalid UTF-8, becomes U+FFFD. */
export function writeTextField(tape: Tape, from: number, end: number): void {
  if (end - from > MAX_STRING_BYTES) return writeCutField(tape, from, end)
  const size = end - from
  reserve(tape, 4 + size)
  const start = tape.to
  writeInt32(tape, size)
  const found = copyBytes(tape, from, size)
  if (found !== ASCII && (found === HAS_ZERO || !isUtf8(tape.src.subarray(from, end)))) {
    tape.to = start
    writeRepairedField(tape, tape.src.toString('utf8', from, end))
    return
  }
  tape.to += size
}

function writeCutField(tape: Tape, from: number, given: number): void {
  const end = cut(tape, from)
  const mark = cutMark(end - from, given - from)
  writeRepairedField(tape, tape.src.toString('utf8', from, end) + mark)
}

function writeRepairedField(tape: Tape, text: string): void {
  const fixed = Buffer.from(text.replaceAll('\0', REPLACEMENT))
  reserve(tape, 4 + fixed.length)
  writeInt32(tape, fixed.length)
  fixed.copy(tape.out, tape.to)
  tape.to += fixed.length
}

/** Begins a field whose length is known only at its end; returns the place for `endField`. */
export function beginField(tape: Tape): number {
  const start = tape.to
  tape.to += 4
  return start
}

export function endField(tape: Tape, start: number): void {
  tape.outView.setInt32(start, tape.to - start - 4)
}

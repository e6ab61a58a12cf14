import { isUtf8 } from 'node:buffer'
import { MAX_STRING_BYTES } from './json-string.ts'
import { reserve } from './tape.ts'
import type { Tape } from './tape.ts'

/**
 * Fields of a row in PostgreSQL's COPY BINARY format: a length of four bytes (-1 for null), then the value, both
 * big-endian. The fixed-width writers rely on the room that the row has reserved for all of them together.
 */

/** Room for a length and eight bytes of value. */
export const FIXED_FIELD_BYTES = 12

export function writeInt32(tape: Tape, value: number): void {
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
  const { src, out } = tape
  for (let i = 0; i < size; i++) out[tape.to + i] = src[from + i] ?? 0
  tape.to += size
}

const SHORT_BYTES = 32
const REPLACEMENT = '\ufffd'

/** A text field; what PostgreSQL cannot hold as text, U+0000 and invalid UTF-8, becomes U+FFFD. */
export function writeTextField(tape: Tape, from: number, given: number): void {
  const end = Math.min(given, from + MAX_STRING_BYTES)
  if (end < given) tape.truncated++
  const size = end - from
  reserve(tape, 4 + size)
  const { src, out } = tape
  const start = tape.to + 4
  let seen = 0
  let hasNul = false
  for (let i = 0; i < size; i++) {
    const byte = src[from + i] ?? 0
    seen |= byte
    if (byte === 0) hasNul = true
    if (size <= SHORT_BYTES) out[start + i] = byte
  }
  if (hasNul || (seen >= 0x80 && !isUtf8(src.subarray(from, end)))) {
    writeRepairedField(tape, src.toString('utf8', from, end))
    return
  }
  if (size > SHORT_BYTES) src.copy(out, start, from, end)
  writeInt32(tape, size)
  tape.to += size
}

function writeRepairedField(tape: Tape, text: string): void {
  const fixed = Buffer.from(text.replaceAll('\0', REPLACEMENT))
  reserve(tape, 4 + fixed.length)
  writeInt32(tape, fixed.length)
  fixed.copy(tape.out, tape.to)
  tape.to += fixed.length
}

/** Begins a field whose length is known only at its end; answers the place for `endField`. */
export function beginField(tape: Tape): number {
  const start = tape.to
  tape.to += 4
  return start
}

export function endField(tape: Tape, start: number): void {
  tape.outView.setInt32(start, tape.to - start - 4)
}

import { REQUEST_TAGS as TAGS } from '../../../../services/collector/otlp/tags.ts'
import { MAX_COLUMN_BYTES } from '../../../../services/collector/otlp/limits.ts'
import { FIRST_NUMBER, FIRST_TEXT, PROMOTED_COUNT } from './attribute-keys.ts'
import { isPromoted } from './attribute-index.ts'
import type { AttributeIndex } from './attribute-index.ts'
import {
  FIXED_FIELD_BYTES,
  writeFloat8Field,
  writeInt8Field,
  writeNull,
  writeTextField,
} from './copy-fields.ts'
import { readDouble, signedVarint } from './json-value.ts'
import { readEnd, readVarint, reserve, skipField } from './tape.ts'
import type { Tape } from './tape.ts'

/** The token counts and the cost. */
export function writePromotedNumbers(tape: Tape, index: AttributeIndex): void {
  reserve(tape, FIRST_TEXT * FIXED_FIELD_BYTES)
  for (let column = 0; column < FIRST_TEXT; column++) {
    const value = isPromoted(index, column) ? readNumber(tape, index, column) : Number.NaN
    if (column < FIRST_NUMBER) writeCount(tape, value)
    else if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) writeFloat8Field(tape, value)
    else writeNull(tape)
  }
}

function writeCount(tape: Tape, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0) writeInt8Field(tape, value)
  else writeNull(tape)
}

/** The model, agent, task, tool, crew and their like. */
export function writePromotedTexts(tape: Tape, index: AttributeIndex): void {
  for (let column = FIRST_TEXT; column < PROMOTED_COUNT; column++) {
    reserve(tape, 4)
    if (!isPromoted(index, column)) writeNull(tape)
    else writePromotedText(tape, index, column)
  }
}

/**
 * The end of the column's value when it is a string; the tape then stands at its first byte. -1 for
 * other values.
 */
export function findString(tape: Tape, index: AttributeIndex, column: number): number {
  const end = toValue(tape, index, column)
  if (isFromDocument(index, column) || tape.at >= end) return -1
  if (readVarint(tape) !== TAGS.anyValue.stringValue) return -1
  const stop = readEnd(tape, end)
  return index.isJson[column] === 1 ? withoutQuotes(tape, stop) : stop
}

/** Leaves out the quotes of a string of JSON that has no escapes. */
function withoutQuotes(tape: Tape, end: number): number {
  const text = tape.src.toString('latin1', tape.at, end)
  if (!/^"[^\\]*"$/s.test(text)) return end
  tape.at++
  return end - 1
}

/** The end of a number that a document has is -1. */
const isFromDocument = (index: AttributeIndex, column: number): boolean =>
  index.promotedEnd[column] === -1

function toValue(tape: Tape, index: AttributeIndex, column: number): number {
  tape.at = index.promotedFrom[column] ?? 0
  return index.promotedEnd[column] ?? 0
}

function writePromotedText(tape: Tape, index: AttributeIndex, column: number): void {
  const own = isFromDocument(index, column) ? index.texts.get(column) : undefined
  if (own !== undefined) return writeOwnText(tape, own)
  const end = findString(tape, index, column)
  if (end >= 0 && end - tape.at <= MAX_COLUMN_BYTES) return writeTextField(tape, tape.at, end)
  const value = readNumber(tape, index, column)
  if (end >= 0 || !Number.isSafeInteger(value)) return writeNull(tape)
  writeDigits(tape, String(value))
}

function writeOwnText(tape: Tape, text: string): void {
  const bytes = Buffer.from(text.replaceAll('\0', '\ufffd'))
  reserve(tape, 4 + bytes.length)
  tape.outView.setInt32(tape.to, bytes.length)
  tape.to += 4
  tape.to += bytes.copy(tape.out, tape.to)
}

function writeDigits(tape: Tape, digits: string): void {
  reserve(tape, 4 + digits.length)
  tape.outView.setInt32(tape.to, digits.length)
  tape.to += 4 + tape.out.write(digits, tape.to + 4, 'latin1')
}

/**
 * The column's value as a number: an int, a double, or a short string of one. NaN for anything
 * else.
 */
function readNumber(tape: Tape, index: AttributeIndex, column: number): number {
  if (isFromDocument(index, column)) return index.numbers[column] ?? Number.NaN
  const end = toValue(tape, index, column)
  if (tape.at >= end) return Number.NaN
  const tag = readVarint(tape)
  if (tag === TAGS.anyValue.intValue) return readInt(tape)
  if (tag === TAGS.anyValue.doubleValue) return readDouble(tape, end)
  if (tag === TAGS.anyValue.stringValue) return parseNumber(tape, readEnd(tape, end))
  skipField(tape, tag, end)
  return Number.NaN
}

function readInt(tape: Tape): number {
  const start = tape.at
  const value = readVarint(tape)
  if (value <= Number.MAX_SAFE_INTEGER) return value
  return Number(signedVarint(tape.src, start, tape.at))
}

function parseNumber(tape: Tape, end: number): number {
  const text = tape.src.toString('latin1', tape.at, Math.min(end, tape.at + 32))
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
}

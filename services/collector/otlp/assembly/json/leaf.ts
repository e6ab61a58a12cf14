import { FORM_BOOL, FORM_BYTES, FORM_DOUBLE, FORM_ENUM, FORM_FIXED32 } from '../constants'
import { FORM_GIVEN_TEXT, FORM_ID, FORM_INT64, FORM_TEXT, FORM_TIME } from '../constants'
import { FORM_UINT32, JSON_NOT_A_STRING } from '../constants'
import { BLOCK, offsetOf, placeOf, room } from '../output'
import { detailOf, formOf, tagOf } from './field'
import { repair, writeDecoded, writeDecodedId } from './host'
import { writeHexBytes } from './hex'
import { numberProblem, readBool, readEnum, readFloat64, readInt64 } from './number'
import { readUint32, readUint64 } from './number'
import { wrong } from './problem'
import { beginMessage, endMessage, varintSize, writeTagged, writeVarint } from './protobuf'
import { areDigits, copyShort, copyText, eightDigits, escapes, scanText } from './plain'
import { at, BRACE_END, bytesLeft, COMMA, next, QUOTE, readOn } from './reader'
import { isEscaped, textEnd, textFrom } from './string'
import { unescapeTo, writeString } from './text'
import { kind, NULL, readValue, TEXT } from './value'

/** Fields that hold no message. Null is an absent field, and so is the default but for `given`. */

const ZERO: u8 = 0x30

/** Room for a tag and a number or an id; texts without their escapes lie behind it. */
const LEAF_BYTES: usize = 64

/** The value here as the field. */
export function writeLeaf(to: usize, field: u32): usize {
  const form = formOf(field)
  to = room(to, LEAF_BYTES)
  const stop = writePlain(to, field, form)
  return stop == 0 ? writeAny(to, field, form) : stop
}

/** A value in the form in which encoders write it; returns 0, and reads nothing, for any other. */
function writePlain(to: usize, field: u32, form: u32): usize {
  if (load<u8>(at) != QUOTE) return form == FORM_ENUM ? writeDigit(to, field) : 0
  if (form == FORM_ID) return writePlainId(to, field)
  if (form == FORM_TIME) return writePlainTime(to, field)
  return form == FORM_TEXT && isUtf8 ? writePlainText(to, field) : 0
}

/** More than the bytes of a text that is scanned while it is copied. */
const SHORT_TEXT_BYTES: usize = 3 * BLOCK

function writePlainText(to: usize, field: u32): usize {
  const from = at + 1
  const tag = tagOf(field)
  const short = copyShort(to + 2, from, SHORT_TEXT_BYTES)
  if (short != 0 && load<u8>(from + short) == QUOTE && tag < 0x80 && bytesLeft() > short + 1) {
    store<u16>(to, <u16>(tag | (<u32>short << 8)))
    readOn(from + short + 1)
    return to + 2 + short
  }
  const end = scanText(from)
  // An empty one is an absent field.
  if (end <= from || escapes != 0) return 0
  const size = end - from
  to = writeTagged(room(to, LEAF_BYTES + size), tag, size)
  copyText(to, from, end)
  readOn(end + 1)
  return to + size
}

/** An id in hexadecimal. */
function writePlainId(to: usize, field: u32): usize {
  const size = <usize>detailOf(field)
  const from = at + 1
  const end = from + 2 * size
  if (bytesLeft() < 2 * size + 2 || load<u8>(end) != QUOTE) return 0
  to = writeHexBytes(writeTagged(to, tagOf(field), size), from, end)
  if (to != 0) readOn(end + 1)
  return to
}

/** The nanoseconds since 1970 of any time between 2001 and 2286. */
const TIME_DIGITS: usize = 19

function writePlainTime(to: usize, field: u32): usize {
  const from = at + 1
  const end = from + TIME_DIGITS
  if (bytesLeft() < TIME_DIGITS + 2 || load<u8>(end) != QUOTE) return 0
  if (!areDigits(from) || !areDigits(from + 8) || !areDigits(end - 8)) return 0
  readOn(end + 1)
  const first = eightDigits(from) * 100000000 + eightDigits(from + 8)
  return writeFixed64(to, tagOf(field), first * 1000 + (eightDigits(end - 8) % 1000))
}

/** A number of one digit. */
function writeDigit(to: usize, field: u32): usize {
  const digit = <u32>load<u8>(at) - ZERO
  const behind = load<u8>(at, 1)
  if (digit > 9 || bytesLeft() < 2 || (behind != COMMA && behind != BRACE_END)) return 0
  readOn(at + 1)
  return writeGiven(to, tagOf(field), digit)
}

function writeAny(to: usize, field: u32, form: u32): usize {
  const isText = form == FORM_TEXT || form == FORM_GIVEN_TEXT
  if (isText && next() == QUOTE) return writeText(to, field, form == FORM_GIVEN_TEXT)
  to = readValue(to)
  if (kind == NULL) return to
  switch (form) {
    case FORM_TEXT:
    case FORM_GIVEN_TEXT:
      return writeDigits(to, field)
    case FORM_BYTES:
      return writeBytes(to, field)
    case FORM_ID:
      return writeId(to, field)
  }
  to = unescaped(to)
  const stop = writeNumber(to, field, form)
  if (numberProblem == 0) return stop
  wrong(field, numberProblem)
  return to
}

/** The string here; an empty one only when it counts as given. */
function writeText(to: usize, field: u32, isGiven: bool): usize {
  const before = offsetOf(to)
  to = room(beginMessage(to, tagOf(field), 1), bytesLeft())
  const start = offsetOf(to)
  to = writeString(to)
  if (!isUtf8) to = repaired(to, start)
  return offsetOf(to) == start && !isGiven ? placeOf(before) : endMessage(to, start, 1)
}

/** Whether the body is valid UTF-8. */
export let isUtf8: bool = true

/** Begins with another body. */
export function setUtf8(isValid: bool): void {
  isUtf8 = isValid
}

/** What is not UTF-8 in the text that begins at the offset `start` becomes U+FFFD. */
function repaired(to: usize, start: usize): usize {
  to = room(to, 2 * (offsetOf(to) - start))
  return repair(placeOf(start), to)
}

/** Of what is no string, the digits of a long number are a text. */
function writeDigits(to: usize, field: u32): usize {
  if (!isText(field)) return to
  const size = textEnd - textFrom
  const lengthBytes = varintSize(size)
  to = room(beginMessage(to, tagOf(field), lengthBytes), size)
  memory.copy(to, textFrom, size)
  return endMessage(to + size, offsetOf(to), lengthBytes)
}

/** Makes room for the field, and puts the text there, behind it, if it has escapes. */
function unescaped(to: usize): usize {
  if (kind != TEXT || !isEscaped) return room(to, LEAF_BYTES)
  to = room(to, LEAF_BYTES + textEnd - textFrom)
  unescapeTo(to + LEAF_BYTES)
  return to
}

function isText(field: u32): bool {
  if (kind != TEXT) wrong(field, JSON_NOT_A_STRING)
  return kind == TEXT
}

function writeBytes(to: usize, field: u32): usize {
  const size = textEnd - textFrom
  if (!isText(field)) return to
  const lengthBytes = varintSize(size)
  to = room(beginMessage(to, tagOf(field), lengthBytes), size)
  const start = offsetOf(to)
  return endMessage(writeDecoded(textFrom, textEnd, to), start, lengthBytes)
}

/** Hexadecimal in either case, or base64. What is neither becomes an id of one byte. */
function writeId(to: usize, field: u32): usize {
  if (!isText(field) || textEnd == textFrom) return to
  const size = <usize>detailOf(field)
  const from = textFrom
  const end = textEnd
  to = unescaped(to)
  to = writeVarint(to, tagOf(field))
  if (textEnd - textFrom == 2 * size) {
    const stop = writeHexBytes(writeVarint(to, size), textFrom, textEnd)
    if (stop != 0) return stop
  }
  if (writeDecodedId(from, end, to + 1, size)) return writeVarint(to, size) + size
  store<u16>(to, 1)
  return to + 2
}

/** Sets `numberProblem`. */
function writeNumber(to: usize, field: u32, form: u32): usize {
  const tag = tagOf(field)
  switch (form) {
    case FORM_BOOL:
      return writeTagged(to, tag, readBool() ? 1 : 0)
    case FORM_TIME:
      return writeFixed64(to, tag, readUint64())
    case FORM_INT64:
      return writeTagged(to, tag, readInt64())
    case FORM_UINT32:
      return writeGiven(to, tag, readUint32())
    case FORM_ENUM:
      return writeGiven(to, tag, readEnum())
    case FORM_FIXED32:
      return writeFixed32(to, tag, readUint32())
    case FORM_DOUBLE:
      return writeDouble(to, tag, readFloat64())
    default:
      return to
  }
}

/** A varint; nothing for 0. */
function writeGiven(to: usize, tag: u32, value: u64): usize {
  return value == 0 ? to : writeTagged(to, tag, value)
}

function writeFixed64(to: usize, tag: u32, value: u64): usize {
  if (value == 0) return to
  to = writeVarint(to, tag)
  store<u64>(to, value)
  return to + 8
}

function writeFixed32(to: usize, tag: u32, value: u32): usize {
  if (value == 0) return to
  to = writeVarint(to, tag)
  store<u32>(to, value)
  return to + 4
}

function writeDouble(to: usize, tag: u32, value: f64): usize {
  to = writeVarint(to, tag)
  store<f64>(to, value)
  return to + 8
}

import { ANY_VALUE_INT_VALUE, ANY_VALUE_JSON_TEXT, ANY_VALUE_STRING_VALUE } from '../constants'
import { KEY_VALUE_KEY, KEY_VALUE_VALUE, MAX_STRING_BYTES, MIN_JSON_TEXT_BYTES } from '../constants'
import { BLOCK, hasRoom, room } from '../output'
import { copyShort, copyText, escapes, scanText } from './plain'
import { varintSize, writeTagged } from './protobuf'
import { at, bytesLeft, QUOTE, readOn } from './reader'
import { writeString } from './text'

/**
 * Attributes as encoders write them, `{"key":"…","value":{"stringValue":"…"}}`, without a space and
 * with no other member. Whatever else may be there is left to the reader of any object.
 */

/** `{"key":"` */
const KEY: u64 = 0x223a2279656b227b
const KEY_BYTES: usize = 8
/** `","value`, `":{"` */
const VALUE: u64 = 0x65756c6176222c22
const VALUE_REST: u32 = 0x227b3a22
const VALUE_BYTES: usize = 12
/** `stringVa`, `Value":"` */
const STRING_VALUE: u64 = 0x6156676e69727473
const STRING_VALUE_REST: u64 = 0x223a2265756c6156
const STRING_VALUE_BYTES: usize = 14
/** `intValue`, `":"` */
const INT_VALUE: u64 = 0x65756c6156746e69
const INT_VALUE_BYTES: usize = 10
const COLON_IN_QUOTES: u16 = 0x3a22
/** `}}` */
const PAIR_END: u16 = 0x7d7d
/** `"}}`, behind any byte. */
const SHORT_END: u32 = 0x7d7d2200

const ZERO: u8 = 0x30
/** Whole numbers with fewer digits have 63 bits. */
const MAX_DIGITS: usize = 18

/** Of a tag. */
const ONE: usize = 1
/** Of a value with a place in the body: two tags and lengths, and three words. */
const POINTER_BYTES: usize = 16

/** Whether long texts may stay in the body. */
let mayPoint: bool = false

/** Called by the host at its start. */
export function pointIntoBody(): void {
  pointsIntoBody = true
}
let pointsIntoBody: bool = false

/**
 * Writes the attribute here as a field; returns 0, and reads nothing, when it has another form. Of
 * those within a value the bytes count, so their texts are always copied.
 */
export function writePair(to: usize, tag: u32, isNested: bool): usize {
  if (load<u64>(at) != KEY) return 0
  const key = at + KEY_BYTES
  if (hasRoom(to, SHORT_PAIR_BYTES)) {
    const stop = writeShortPair(to, tag, key)
    if (stop != 0) return stop
  }
  mayPoint = pointsIntoBody && !isNested
  const keyEnd = scanText(key)
  if (keyEnd == 0 || escapes != 0) return 0
  if (load<u64>(keyEnd) != VALUE || load<u32>(keyEnd, 8) != VALUE_REST) return 0
  const value = keyEnd + VALUE_BYTES
  const kind = load<u64>(value)
  if (kind == STRING_VALUE && load<u64>(value, 6) == STRING_VALUE_REST) {
    return writeTextPair(to, tag, key, keyEnd, value + STRING_VALUE_BYTES)
  }
  return kind == INT_VALUE ? writeIntPair(to, tag, key, keyEnd, value + INT_VALUE_BYTES) : 0
}

/** More than the bytes of a key, and of a text, that are scanned while they are copied. */
const SHORT_KEY_BYTES: usize = 3 * BLOCK
const SHORT_TEXT_BYTES: usize = 4 * BLOCK
/** With these each length takes one byte. */
const SHORT_PAIR_BYTES: usize = 8 + SHORT_KEY_BYTES + SHORT_TEXT_BYTES

/** A short key and a short text without escapes; returns 0, and reads nothing, for any other. */
@inline
function writeShortPair(to: usize, tag: u32, key: usize): usize {
  const keySize = copyShort(to + 4, key, SHORT_KEY_BYTES)
  const behind = key + keySize
  if (load<u64>(behind) != VALUE || load<u32>(behind, 8) != VALUE_REST) return 0
  const value = behind + VALUE_BYTES
  if (load<u64>(value) != STRING_VALUE || load<u64>(value, 6) != STRING_VALUE_REST) return 0
  const text = value + STRING_VALUE_BYTES
  const place = to + 4 + keySize
  const size = copyShort(place + 4, text, SHORT_TEXT_BYTES)
  const end = text + size
  if (load<u32>(end) << 8 != SHORT_END || tag > 0x7f || bytesLeft() < end + 3 - at) return 0
  store<u32>(to, headOf(tag, <u32>(keySize + size + 6), KEY_VALUE_KEY, <u32>keySize))
  store<u32>(place, headOf(KEY_VALUE_VALUE, <u32>size + 2, ANY_VALUE_STRING_VALUE, <u32>size))
  readOn(end + 3)
  return place + 4 + size
}

/** Two tags, each with the length behind it. */
@inline
function headOf(tag: u32, length: u32, inner: u32, innerLength: u32): u32 {
  return tag | (length << 8) | (inner << 16) | (innerLength << 24)
}

function writeTextPair(to: usize, tag: u32, key: usize, keyEnd: usize, text: usize): usize {
  const keySize = keyEnd - key
  const textEnd = scanText(text)
  if (textEnd == 0 || load<u16>(textEnd, 1) != PAIR_END || bytesLeft() < textEnd + 3 - at) return 0
  const size = textEnd - text - escapes
  if (size > MIN_JSON_TEXT_BYTES && size <= MAX_STRING_BYTES && mayPoint) {
    to = beginPair(to, tag, key, keySize, POINTER_BYTES)
    to = writePointer(to, text, textEnd, size)
    readOn(textEnd + 3)
    return to
  }
  const valueSize = ONE + varintSize(size) + size
  to = beginPair(to, tag, key, keySize, ONE + varintSize(valueSize) + valueSize)
  to = writeTagged(to, KEY_VALUE_VALUE, valueSize)
  to = writeTagged(to, ANY_VALUE_STRING_VALUE, size)
  if (escapes == 0) {
    copyText(to, text, textEnd)
    to += size
  } else {
    readOn(text - 1)
    to = writeString(to)
  }
  readOn(textEnd + 3)
  return to
}

/** A value with the place of its text in the body, which has `size` bytes without its escapes. */
function writePointer(to: usize, from: usize, end: usize, size: usize): usize {
  to = writeTagged(to, KEY_VALUE_VALUE, POINTER_BYTES - 2)
  to = writeTagged(to, ANY_VALUE_JSON_TEXT, POINTER_BYTES - 4)
  store<u32>(to, <u32>from)
  store<u32>(to, <u32>end, 4)
  store<u32>(to, <u32>size, 8)
  return to + 12
}

function writeIntPair(to: usize, tag: u32, key: usize, keyEnd: usize, from: usize): usize {
  if (load<u16>(from - 2) != COLON_IN_QUOTES) return 0
  const isQuoted = load<u8>(from) == QUOTE
  if (isQuoted) from++
  let value: u64 = 0
  let end = from
  for (; end - from < MAX_DIGITS; end++) {
    const digit = <u32>load<u8>(end) - ZERO
    if (digit > 9) break
    value = value * 10 + digit
  }
  if (end == from || (!isQuoted && end - from > 1 && load<u8>(from) == ZERO)) return 0
  if (isQuoted && load<u8>(end++) != QUOTE) return 0
  if (load<u16>(end) != PAIR_END || bytesLeft() < end + 2 - at) return 0
  const valueSize = ONE + varintSize(value)
  to = beginPair(to, tag, key, keyEnd - key, ONE + ONE + valueSize)
  to = writeTagged(to, KEY_VALUE_VALUE, valueSize)
  to = writeTagged(to, ANY_VALUE_INT_VALUE, value)
  readOn(end + 2)
  return to
}

/** The head of a pair whose value takes `valueBytes`, and its key; makes room for all. */
function beginPair(to: usize, tag: u32, key: usize, keySize: usize, valueBytes: usize): usize {
  const size = ONE + varintSize(keySize) + keySize + valueBytes
  to = writeTagged(room(to, HEAD_BYTES + size), tag, size)
  to = writeTagged(to, KEY_VALUE_KEY, keySize)
  copyText(to, key, key + keySize)
  return to + keySize
}

const HEAD_BYTES: usize = 16

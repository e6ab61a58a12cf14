import { ANY_VALUE_ARRAY_VALUE, ANY_VALUE_BOOL_VALUE, ANY_VALUE_BYTES_VALUE } from './constants'
import { ANY_VALUE_DOUBLE_VALUE, ANY_VALUE_INT_VALUE, ANY_VALUE_KVLIST_VALUE } from './constants'
import { ANY_VALUE_JSON_TEXT, ANY_VALUE_STRING_VALUE, LIST_VALUES, MAX_DEPTH } from './constants'
import { MAX_MARK_BYTES, MAX_STRING_BYTES } from './constants'
import { isUtf8, writeBase64, writeDouble } from './host'
import { keyEndOf, keyOf, PAIR_BYTES, readKeyValue, valueEndOf, valueOf } from './key-value'
import { offsetOf, placeOf, room, writeAscii, writeByte, writeSigned } from './output'
import { after, checkEnd, fixedAt, isOwn, readEnd, readTag, readVarint } from './protobuf'
import { skipField } from './protobuf'
import { findFirst, isRedacting } from './redaction/find'
import { noteCut, writeCutMark, writeFoundMark, writeString } from './text'

/** Values as JSON. */

/** The separator of members and elements. */
export const COMMA: u8 = 0x2c
const COLON: u8 = 0x3a
const QUOTE: u8 = 0x22

/** The depth of arrays and maps around the value being written. */
let depth: u32 = 0
/** Set when a value was nested too deeply: its span is refused. */
export let isTooDeep: bool = false

/** Begins with the values of another span or identity. */
export function clearDepth(): void {
  depth = 0
  isTooDeep = false
}

/** The end of the field that was read last. */
let fieldEnd: usize = 0

/** The AnyValue in [at, end); an empty one is null. Of several values the last one counts. */
export function writeValue(to: usize, at: usize, end: usize): usize {
  const start = offsetOf(to)
  let written = start
  while (at < end) {
    const stop = writeField(placeOf(start), at, end)
    if (stop != 0) written = offsetOf(stop)
    at = fieldEnd
  }
  checkEnd(at, end)
  to = placeOf(written)
  return written == start ? writeAscii(to, 'null') : to
}

/** Returns 0 when the field is not a value. */
function writeField(to: usize, at: usize, end: usize): usize {
  const tag = readTag(at)
  at = after
  switch (tag) {
    case ANY_VALUE_STRING_VALUE:
      fieldEnd = readEnd(at, end)
      return writeString(to, after, fieldEnd)
    case ANY_VALUE_BOOL_VALUE: {
      const isTrue = readVarint(at) != 0
      fieldEnd = after
      return writeAscii(to, isTrue ? 'true' : 'false')
    }
    case ANY_VALUE_INT_VALUE: {
      const value = <i64>readVarint(at)
      fieldEnd = after
      return writeSigned(to, value)
    }
    case ANY_VALUE_DOUBLE_VALUE:
      fieldEnd = fixedAt(at, end, 8) + 8
      return writeDouble(load<f64>(at), room(to, 32))
    case ANY_VALUE_ARRAY_VALUE:
    case ANY_VALUE_KVLIST_VALUE: {
      const stop = readEnd(at, end)
      to = writeList(to, after, stop, tag == ANY_VALUE_KVLIST_VALUE)
      fieldEnd = stop
      return to
    }
    case ANY_VALUE_BYTES_VALUE:
      fieldEnd = readEnd(at, end)
      return writeBytes(to, after, fieldEnd)
    case ANY_VALUE_JSON_TEXT:
      fieldEnd = readEnd(at, end)
      return isOwn ? writeJsonText(to, after) : 0
    default:
      fieldEnd = skipField(tag, at, end)
      return 0
  }
}

/** A text that lies in a body in JSON, as it is there; what is at `pointer` says where. */
function writeJsonText(to: usize, pointer: usize): usize {
  const from = <usize>load<u32>(pointer)
  const size = <usize>load<u32>(pointer, 4) - from
  to = room(to, size + 2)
  store<u8>(to, QUOTE)
  memory.copy(to + 1, from, size)
  store<u8>(to + 1 + size, QUOTE)
  return to + size + 2
}

/** An array, or a map, whose elements lie in [at, end). */
function writeList(to: usize, at: usize, end: usize, isMap: bool): usize {
  if (depth == MAX_DEPTH) {
    isTooDeep = true
    return writeAscii(to, 'null')
  }
  depth++
  to = writeAscii(to, isMap ? '{' : '[')
  let isFirst = true
  while (at < end) {
    const tag = readTag(at)
    if (tag != LIST_VALUES) {
      at = skipField(tag, after, end)
      continue
    }
    const stop = readEnd(after, end)
    const from = after
    if (!isFirst) to = writeByte(to, COMMA)
    isFirst = false
    to = isMap ? writeMember(to, from, stop) : writeValue(to, from, stop)
    at = stop
  }
  checkEnd(at, end)
  depth--
  return writeAscii(to, isMap ? '}' : ']')
}

const member: usize = memory.data(<i32>PAIR_BYTES, 16)

/** The KeyValue in [at, end) as `"key":value`. */
function writeMember(to: usize, at: usize, end: usize): usize {
  readKeyValue(member, at, end)
  return writePair(to, member)
}

/** A key and its value; null when there is none. */
export function writePair(to: usize, pair: usize): usize {
  const value = valueOf(pair)
  const end = valueEndOf(pair)
  to = writeByte(writeString(to, keyOf(pair), keyEndOf(pair)), COLON)
  return value == 0 ? writeAscii(to, 'null') : writeValue(to, value, end)
}

/**
 * Bytes as `{"$b64":"…"}`, so that a reader can tell them from a string, and `$cut` if they are.
 */
function writeBytes(to: usize, from: usize, given: usize): usize {
  const isText = isRedacting && isUtf8(from, given)
  if (isText && findFirst(from, given)) return writeRedactedBytes(to)
  const size = min(given - from, <usize>MAX_STRING_BYTES)
  to = writeAscii(to, '{"$b64":"')
  // Base64 makes four bytes of three, and fills up the last four.
  to = writeBase64(from, from + size, room(to, (size / 3) * 4 + 4))
  if (size < given - from) {
    noteCut()
    to = writeCutMark(writeAscii(to, '","$cut":"'), size, given - from)
  }
  return writeAscii(to, '"}')
}

/** Bytes that are a text with a secret become the mark alone. */
function writeRedactedBytes(to: usize): usize {
  to = room(writeAscii(to, '{"$b64":"'), 3 * MAX_MARK_BYTES)
  const mark = to + 2 * MAX_MARK_BYTES
  return writeAscii(writeBase64(mark, writeFoundMark(mark), to), '"}')
}

/**
 * All fields `tag` of the message in [at, end), each a KeyValue, as the members of a JSON object.
 */
export function writeMembers(to: usize, at: usize, end: usize, tag: u32): usize {
  let isFirst = true
  while (at < end) {
    const found = readTag(at)
    if (found != tag) {
      at = skipField(found, after, end)
      continue
    }
    const stop = readEnd(after, end)
    const from = after
    if (!isFirst) to = writeByte(to, COMMA)
    isFirst = false
    to = writeMember(to, from, stop)
    at = stop
  }
  return to
}

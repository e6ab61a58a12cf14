import { REQUEST_TAGS as TAGS } from '../../../../services/collector/otlp/tags.ts'
import { MAX_DEPTH, MAX_STRING_BYTES } from '../../../../services/collector/otlp/limits.ts'
import { doubleAsJson } from '../../../../services/collector/otlp/transcoder-module.ts'
import { cutMark, writeAscii, writeByte, writeJsonString } from './json-string.ts'
import { byteAt, checkEnd, malformed, readEnd, readVarint, reserve, skipField } from './tape.ts'
import type { Tape } from './tape.ts'

const COMMA = 0x2c
const COLON = 0x3a

/**
 * The AnyValue message in [at, end) as JSON; an empty one is null. Of several values the last one
 * counts.
 */
function writeAnyValue(tape: Tape, end: number): void {
  const start = tape.to
  let done = start
  while (tape.at < end) {
    tape.to = start
    if (writeValueField(tape, end)) done = tape.to
  }
  checkEnd(tape, end)
  tape.to = done
  if (done === start) writeAscii(tape, 'null')
}

function writeValueField(tape: Tape, end: number): boolean {
  const tag = readVarint(tape)
  switch (tag) {
    case TAGS.anyValue.stringValue:
      writeString(tape, readEnd(tape, end))
      return true
    case TAGS.anyValue.boolValue:
      writeAscii(tape, readVarint(tape) === 0 ? 'false' : 'true')
      return true
    case TAGS.anyValue.intValue:
      writeInt(tape)
      return true
    case TAGS.anyValue.doubleValue:
      writeDouble(tape, end)
      return true
    case TAGS.anyValue.arrayValue:
      writeArray(tape, readEnd(tape, end))
      return true
    case TAGS.anyValue.kvlistValue:
      writeMap(tape, readEnd(tape, end))
      return true
    case TAGS.anyValue.bytesValue:
      writeBytes(tape, readEnd(tape, end))
      return true
    default:
      skipField(tape, tag, end)
      return false
  }
}

function writeString(tape: Tape, end: number): void {
  writeJsonString(tape, tape.at, end)
  tape.at = end
}

/** A varint as a signed 64-bit decimal. */
function writeInt(tape: Tape): void {
  const start = tape.at
  const value = readVarint(tape)
  const isExact = value <= Number.MAX_SAFE_INTEGER
  writeAscii(tape, String(isExact ? value : signedVarint(tape.src, start, tape.at)))
}

/** The exact value, as a signed 64-bit number, of the varint that lies in [from, end). */
export function signedVarint(src: Buffer, from: number, end: number): bigint {
  let value = 0n
  for (let i = end - 1; i >= from; i--) value = (value << 7n) | BigInt(byteAt(src, i) & 0x7f)
  return BigInt.asIntN(64, value)
}

/** The double at the tape's place. */
export function readDouble(tape: Tape, end: number): number {
  if (tape.at + 8 > end) malformed('a number is cut off')
  const value = tape.srcView.getFloat64(tape.at, true)
  tape.at += 8
  return value
}

function writeDouble(tape: Tape, end: number): void {
  writeAscii(tape, doubleAsJson(readDouble(tape, end)))
}

/**
 * Bytes as `{"$b64":"…"}`: a reader can tell them from a string. When they are cut, `$cut` stands
 * beside them.
 */
function writeBytes(tape: Tape, end: number): void {
  const { at } = tape
  const stop = Math.min(end, at + MAX_STRING_BYTES)
  const mark = stop < end ? `,"$cut":"${cutMark(stop - at, end - at).trim()}"` : ''
  if (stop < end) tape.truncated++
  writeAscii(tape, `{"$b64":"${tape.src.toString('base64', at, stop)}"${mark}}`)
  tape.at = end
}

function writeArray(tape: Tape, end: number): void {
  if (isTooDeep(tape, end)) return
  writeAscii(tape, '[')
  for (let count = 0; tape.at < end;) {
    const stop = nextElement(tape, end)
    if (stop < 0) continue
    if (count++ > 0) writeComma(tape)
    writeAnyValue(tape, stop)
  }
  checkEnd(tape, end)
  writeAscii(tape, ']')
  tape.depth--
}

function writeMap(tape: Tape, end: number): void {
  if (isTooDeep(tape, end)) return
  writeAscii(tape, '{')
  for (let count = 0; tape.at < end;) {
    const stop = nextElement(tape, end)
    if (stop < 0) continue
    if (count++ > 0) writeComma(tape)
    scanKeyValue(tape, stop)
    writeMember(tape)
    tape.at = stop
  }
  checkEnd(tape, end)
  writeAscii(tape, '}')
  tape.depth--
}

/** The end of the next element of a list; -1 when another field was there and has been skipped. */
function nextElement(tape: Tape, end: number): number {
  const tag = readVarint(tape)
  if (tag === TAGS.list.values) return readEnd(tape, end)
  skipField(tape, tag, end)
  return -1
}

function isTooDeep(tape: Tape, end: number): boolean {
  if (tape.depth < MAX_DEPTH) {
    tape.depth++
    return false
  }
  tape.tooDeep = true
  tape.at = end
  writeAscii(tape, 'null')
  return true
}

export function writeComma(tape: Tape): void {
  reserve(tape, 1)
  writeByte(tape, COMMA)
}

/** Reads the KeyValue message in [at, end): where its key and its value lie is left on the tape. */
export function scanKeyValue(tape: Tape, end: number): void {
  tape.keyFrom = tape.at
  tape.keyEnd = tape.at
  tape.valueFrom = -1
  tape.valueEnd = -1
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag === TAGS.keyValue.key) {
      tape.keyEnd = readEnd(tape, end)
      tape.keyFrom = tape.at
      tape.at = tape.keyEnd
    } else if (tag === TAGS.keyValue.value) {
      tape.valueEnd = readEnd(tape, end)
      tape.valueFrom = tape.at
      tape.at = tape.valueEnd
    } else skipField(tape, tag, end)
  }
  checkEnd(tape, end)
}

/** The scanned key and value as `"key":value`. */
export function writeMember(tape: Tape): void {
  const { valueFrom, valueEnd } = tape
  writeJsonString(tape, tape.keyFrom, tape.keyEnd)
  reserve(tape, 1)
  writeByte(tape, COLON)
  if (valueFrom < 0) return writeAscii(tape, 'null')
  tape.at = valueFrom
  writeAnyValue(tape, valueEnd)
}

/** All fields `tag` of the message in [from, end), each a KeyValue, as one JSON object. */
export function writeAttributesObject(tape: Tape, tag: number, range: Range): void {
  writeAscii(tape, '{')
  tape.at = range.from
  for (let count = 0; tape.at < range.end;) {
    const found = readVarint(tape)
    if (found !== tag) {
      skipField(tape, found, range.end)
      continue
    }
    const stop = readEnd(tape, range.end)
    if (count++ > 0) writeComma(tape)
    scanKeyValue(tape, stop)
    writeMember(tape)
    tape.at = stop
  }
  writeAscii(tape, '}')
}

interface Range {
  from: number
  end: number
}

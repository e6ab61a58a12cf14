import { malformed } from './host'
import { FIELD_TOO_LONG, NUMBER_CUT_OFF, VARINT_TOO_LONG, WIRE_TYPE_3 } from './constants'
import { WRONG_END } from './constants'
import { TYPE_BYTES, TYPE_FIXED32, TYPE_FIXED64, TYPE_VARINT } from './constants'
import { WIRE_TYPE_4, WIRE_TYPE_6, WIRE_TYPE_7 } from './constants'

/** Reading protobuf. Places are addresses. Whatever is not a message is raised as malformed. */

/** The end of what was read last. */
export let after: usize = 0

/** The end of the body: bytes beyond belong to others, and read as 0 where they would matter. */
let bodyEnd: usize = 0

/** Whether the rewriter of JSON wrote the body: it points to texts that lie elsewhere. */
export let isOwn: bool = false

/** Reads from a body that ends at `end` next. */
export function readUntil(end: usize, isRewritten: bool): void {
  bodyEnd = end
  isOwn = isRewritten
}

const VARINT_BYTES: u64 = 10

/**
 * A varint. One that is cut off runs over the end of its message, which `checkEnd` or `readEnd`
 * notices: its value does not matter.
 */
@inline
export function readVarint(at: usize): u64 {
  const first = <u64>load<u8>(at)
  if (first >= 0x80) return readLongVarint(at)
  after = at + 1
  return first
}

function readLongVarint(at: usize): u64 {
  let value: u64 = 0
  for (let shift: u64 = 0; shift < VARINT_BYTES * 7; shift += 7) {
    const byte = at < bodyEnd ? <u64>load<u8>(at) : 0
    at++
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) {
      after = at
      return value
    }
  }
  malformed(VARINT_TOO_LONG)
  return 0
}

/** A field of a number that is not in use; the last three bits of a tag are its wire type. */
const UNKNOWN_FIELD: u32 = 0xfffffff8

/** The tag of a field. Tags have 32 bits; a larger one is that of an unknown field. */
@inline
export function readTag(at: usize): u32 {
  const tag = readVarint(at)
  return tag <= <u64>u32.MAX_VALUE ? <u32>tag : UNKNOWN_FIELD | <u32>(tag & 7)
}

/** The wire type that a tag names. */
@inline
export function wireType(tag: u32): u32 {
  return tag & 7
}

/**
 * Where the field whose length lies at `at` ends, within the message that ends at `end`. Its
 * content begins at `after`.
 */
@inline
export function readEnd(at: usize, end: usize): usize {
  const length = readVarint(at)
  if (after > end || length > <u64>(end - after)) malformed(FIELD_TOO_LONG)
  return after + <usize>length
}

/** The place of a number of `size` bytes, which lies within the message that ends at `end`. */
export function fixedAt(at: usize, end: usize, size: usize): usize {
  if (at + size > end) malformed(NUMBER_CUT_OFF)
  return at
}

/** The end of a field of no interest, whose content begins at `at`. */
export function skipField(tag: u32, at: usize, end: usize): usize {
  const type = wireType(tag)
  if (type == TYPE_VARINT) {
    readVarint(at)
    return after
  }
  if (type == TYPE_BYTES) return readEnd(at, end)
  if (type == TYPE_FIXED64) return at + 8
  if (type == TYPE_FIXED32) return at + 4
  malformed(unusedType(type))
  return 0
}

function unusedType(type: u32): u32 {
  if (type == 3) return WIRE_TYPE_3
  if (type == 4) return WIRE_TYPE_4
  return type == 6 ? WIRE_TYPE_6 : WIRE_TYPE_7
}

/** A message was read to its end, neither short of it nor beyond. */
@inline
export function checkEnd(at: usize, end: usize): void {
  if (at != end) malformed(WRONG_END)
}

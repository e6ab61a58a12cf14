import { enlarge } from './host'

/**
 * The rows being written. Each writer is given the place `to` where it writes, asks for the room
 * that it needs, and returns where what it wrote ends. The rows may move to get room: a place that
 * outlives a writer is kept as an offset from their beginning.
 */
let begin: usize = 0
let limit: usize = 0

/** The rows lie in [from, end) now. Called by the host, also while it enlarges them. */
export function writeWithin(from: usize, end: usize): void {
  begin = from
  limit = end
}

/** Bytes that are written beyond a text, because texts are copied in blocks. */
export const BLOCK: usize = 16

/** Makes room for `size` bytes, and a block beyond; returns `to`, wherever that is now. */
@inline
export function room(to: usize, size: usize): usize {
  return to + size + BLOCK > limit ? moved(to, size + BLOCK) : to
}

/** Returns whether there is room for `size` bytes, and a block beyond. */
@inline
export function hasRoom(to: usize, size: usize): bool {
  return to + size + BLOCK <= limit
}

function moved(to: usize, size: usize): usize {
  const used = to - begin
  enlarge(used, size)
  return begin + used
}

/** The distance of a place from the first row. */
@inline
export function offsetOf(to: usize): usize {
  return to - begin
}

/** The place so far behind the first row. */
@inline
export function placeOf(offset: usize): usize {
  return begin + offset
}

/** Writes text of our own making, in ASCII. */
export function writeAscii(to: usize, text: string): usize {
  const size = <usize>text.length
  const from = changetype<usize>(text)
  to = room(to, size)
  for (let i: usize = 0; i < size; i++) store<u8>(to + i, <u8>load<u16>(from + (i << 1)))
  return to + size
}

/** The same for one character. */
@inline
export function writeByte(to: usize, char: u8): usize {
  to = room(to, 1)
  store<u8>(to, char)
  return to + 1
}

const ZERO: u8 = 0x30
const MINUS: u8 = 0x2d
/** Of the largest number of 64 bits. */
const MAX_DIGITS: usize = 20

/** A whole number of 64 bits in decimal. */
export function writeUnsigned(to: usize, value: u64): usize {
  to = room(to, MAX_DIGITS)
  let digits: usize = 1
  for (let power: u64 = 10; digits < MAX_DIGITS && value >= power; power *= 10) digits++
  for (let at = to + digits; at > to; value /= 10) store<u8>(--at, ZERO + <u8>(value % 10))
  return to + digits
}

/** The same with a sign. */
export function writeSigned(to: usize, value: i64): usize {
  if (value >= 0) return writeUnsigned(to, <u64>value)
  return writeUnsigned(writeByte(to, MINUS), 0 - <u64>value)
}

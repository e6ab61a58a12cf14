import { BLOCK, offsetOf, placeOf, room } from './output'

/**
 * Fields of a row in PostgreSQL's COPY BINARY format: a length of four bytes, -1 for null, then the
 * value, both big-endian. Writers of a fixed width rely on the room that was made for all of them.
 */

/** Room for a length and eight bytes of value. */
export const FIELD_BYTES: usize = 12

/** A field without a value. */
export function writeNull(to: usize): usize {
  store<u32>(to, u32.MAX_VALUE)
  return to + 4
}

/** Eight bytes in the order in which they are to lie there. */
export function writeInt8(to: usize, bytes: u64): usize {
  store<u32>(to, bswap<u32>(8))
  store<u64>(to, bytes, 4)
  return to + 12
}

/** An int8 that is null for 0, protobuf's "not given". */
export function writeGivenInt8(to: usize, value: u64): usize {
  return value == 0 ? writeNull(to) : writeInt8(to, bswap(value))
}

/** A double. */
export function writeFloat8(to: usize, value: f64): usize {
  return writeInt8(to, bswap(reinterpret<u64>(value)))
}

/** A whole number of 16 bits. */
export function writeInt2(to: usize, value: u16): usize {
  store<u32>(to, bswap<u32>(2))
  store<u16>(to, bswap(value), 4)
  return to + 6
}

/** True or false. */
export function writeBool(to: usize, value: bool): usize {
  store<u32>(to, bswap<u32>(1))
  store<u8>(to, value ? 1 : 0, 4)
  return to + 5
}

/** A text of the host, as it is and also when it is empty; the caller has made room for it. */
export function writeOwnText(to: usize, from: usize, end: usize): usize {
  store<u32>(to, bswap(<u32>(end - from)))
  memory.copy(to + 4, from, end - from)
  return to + 4 + end - from
}

/** Begins a field whose length is known at its end; its value follows at `beginField(to)`. */
export function beginField(to: usize): usize {
  return room(to, 4) + 4
}

/** Ends the field that began at the offset `start`. */
export function endField(to: usize, start: usize): usize {
  const field = placeOf(start)
  store<u32>(field, bswap(<u32>(to - field - 4)))
  return to
}

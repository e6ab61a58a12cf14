import { offsetOf, placeOf, room } from '../output'

/** Writing protobuf. */

/** The bytes of a varint. */
export function varintSize(value: u64): usize {
  let size: usize = 1
  for (; value >= 0x80; value >>= 7) size++
  return size
}

/** A varint, for which there is room. */
export function writeVarint(to: usize, value: u64): usize {
  for (; value >= 0x80; value >>= 7) store<u8>(to++, <u8>(value | 0x80))
  store<u8>(to, <u8>value)
  return to + 1
}

/** A tag, and the varint behind it, for which there is room; both mostly take one byte. */
@inline
export function writeTagged(to: usize, tag: u32, value: u64): usize {
  if ((<u64>tag | value) < 0x80) {
    store<u16>(to, <u16>(tag | (<u32>value << 8)))
    return to + 2
  }
  return writeVarint(writeVarint(to, tag), value)
}

/**
 * Begins a field whose length lies in `lengthBytes`, as far as that is known; what it holds follows
 * at `beginMessage(…)`.
 */
export function beginMessage(to: usize, tag: u32, lengthBytes: usize): usize {
  return writeVarint(room(to, HEAD_BYTES), tag) + lengthBytes
}

/** Of a tag and a length. */
const HEAD_BYTES: usize = 16

/** Ends the field that holds what begins at the offset `start`, behind its length. */
export function endMessage(to: usize, start: usize, lengthBytes: usize): usize {
  const size = offsetOf(to) - start
  const needed = varintSize(size)
  if (needed != lengthBytes) {
    to = room(to, needed)
    memory.copy(placeOf(start) - lengthBytes + needed, placeOf(start), size)
    to = to + needed - lengthBytes
  }
  writeVarint(placeOf(start) - lengthBytes, size)
  return to
}

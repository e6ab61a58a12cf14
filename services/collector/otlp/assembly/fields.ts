/** Fixed-width fields of a row: a length of four bytes, then the value, both big-endian. Each answers where it ends. */

export function writeNull(to: usize): usize {
  store<u32>(to, 0xffffffff)
  return to + 4
}

/** Eight bytes as they are to lie there. */
export function writeInt8(to: usize, bytes: u64): usize {
  store<u32>(to, bswap<u32>(8))
  store<u64>(to, bytes, 4)
  return to + 12
}

export function writeInt2(to: usize, value: u16): usize {
  store<u32>(to, bswap<u32>(2))
  store<u16>(to, bswap(value), 4)
  return to + 6
}

export function writeBool(to: usize, value: bool): usize {
  store<u32>(to, bswap<u32>(1))
  store<u8>(to, value ? 1 : 0, 4)
  return to + 5
}

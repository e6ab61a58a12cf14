import { isUtf8 } from './host'
import { escapes, hexDigits } from './state'

/** Bytes of a step; up to as many are read, and written, beyond a text. */
const BLOCK: usize = 16

let sawHighBytes: bool = false

/** Whether the text that was escaped last has bytes over 0x7f. */
export function hasHighBytes(): bool {
  return sawHighBytes
}

/** The bits of a block's first `left` bytes. */
function within(mask: i32, left: usize): i32 {
  return left < BLOCK ? mask & ((1 << (<i32>left)) - 1) : mask
}

/**
 * Writes the text in [from, end) to `to` with the escapes of JSON, sixteen bytes at a step. Answers where it ends; 0 when
 * it holds a U+0000.
 */
export function escape(from: usize, end: usize, to: usize): usize {
  let high = 0
  while (from < end) {
    const left = end - from
    const block = v128.load(from)
    v128.store(to, block)
    const special = v128.or(
      v128.or(i8x16.eq(block, i8x16.splat(0x22)), i8x16.eq(block, i8x16.splat(0x5c))),
      i8x16.lt_u(block, i8x16.splat(0x20)),
    )
    const hits = within(i8x16.bitmask(special), left)
    high |= within(i8x16.bitmask(block), left)
    if (hits == 0) {
      to += min(left, BLOCK)
      from += BLOCK
      continue
    }
    const plain = <usize>ctz(hits)
    from += plain
    to += plain
    const byte = load<u8>(from++)
    if (byte == 0) return 0
    to = writeEscape(to, byte)
  }
  sawHighBytes = high != 0
  return to
}

function writeEscape(to: usize, byte: u8): usize {
  const letter = load<u8>(escapes + byte)
  store<u8>(to, 0x5c)
  if (letter != 1) {
    store<u8>(to, letter, 1)
    return to + 2
  }
  // `u00`
  store<u8>(to, 0x75, 1)
  store<u16>(to, 0x3030, 2)
  store<u8>(to, load<u8>(hexDigits + (byte >> 4)), 4)
  store<u8>(to, load<u8>(hexDigits + (byte & 15)), 5)
  return to + 6
}

/** The text in [from, end) as a JSON string; 0 when it is not one that jsonb can hold. */
export function writeString(to: usize, from: usize, end: usize): usize {
  store<u8>(to, 0x22)
  const stop = escape(from, end, to + 1)
  if (stop == 0 || (sawHighBytes && !isUtf8(from, end))) return 0
  store<u8>(stop, 0x22)
  return stop + 1
}

/** The text in [from, end) as a field of a row; 0 when it is none that PostgreSQL can hold. */
export function writeText(to: usize, from: usize, end: usize): usize {
  store<u32>(to, bswap(<u32>(end - from)))
  to += 4
  let high = 0
  for (let at = from; at < end; at += BLOCK) {
    const left = end - at
    const block = v128.load(at)
    v128.store(to, block)
    high |= within(i8x16.bitmask(block), left)
    if (within(i8x16.bitmask(i8x16.eq(block, i8x16.splat(0))), left) != 0) return 0
    to += min(left, BLOCK)
  }
  return high != 0 && !isUtf8(from, end) ? 0 : to
}

/** A whole number in decimal. */
export function writeInteger(to: usize, value: i64): usize {
  let rest = <u64>value
  if (value < 0) {
    store<u8>(to++, 0x2d)
    rest = 0 - rest
  }
  let digits: usize = 1
  for (let limit: u64 = 10; digits < 20 && rest >= limit; limit *= 10) digits++
  for (let at = to + digits; at > to; rest /= 10) store<u8>(--at, 0x30 + <u8>(rest % 10))
  return to + digits
}

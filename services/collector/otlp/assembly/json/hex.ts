/** Hexadecimal digits, in either case, sixteen at a step. */

const DIGITS: usize = 16

/**
 * Writes the bytes that the digits in [from, end), a multiple of sixteen, are; returns where they
 * end, 0 when one is no digit.
 */
export function writeHexBytes(to: usize, from: usize, end: usize): usize {
  let all = true
  for (; from < end; from += DIGITS) {
    const block = v128.load(from)
    const letter = letters(block)
    all = v128.all_true<i8>(v128.or(decimals(block), letter)) && all
    const nine = v128.and(letter, i8x16.splat(9))
    const values = i8x16.add(v128.and(block, i8x16.splat(0x0f)), nine)
    // The first digit of a byte is the larger one, and lies in the lower half of two bytes.
    const bytes = v128.or(i16x8.shl(values, 4), i16x8.shr_u(values, 8))
    const low = v128.and(bytes, i16x8.splat(0xff))
    store<u64>(to, i64x2.extract_lane(i8x16.narrow_i16x8_u(low, low), 0))
    to += DIGITS / 2
  }
  return all ? to : 0
}

@inline
function decimals(block: v128): v128 {
  return i8x16.lt_u(i8x16.sub(block, i8x16.splat(0x30)), i8x16.splat(10))
}

@inline
function letters(block: v128): v128 {
  const lower = v128.or(block, i8x16.splat(0x20))
  return i8x16.lt_u(i8x16.sub(lower, i8x16.splat(0x61)), i8x16.splat(6))
}

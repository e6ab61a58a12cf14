import { BLOCK } from '../output'
import { invalidJson } from './host'
import { at, bytesLeft, expect, next, QUOTE, readOn, SPACE } from './reader'

/** Strings as they stand in a JSON text. */

export const BACKSLASH: u8 = 0x5c
const COLON: u8 = 0x3a
const SLASH: u8 = 0x2f
const LOWER_U: u8 = 0x75

/** Where the content of the string that was read last begins and ends. */
export let textFrom: usize = 0
export let textEnd: usize = 0
/** Whether it has escapes. */
export let isEscaped: bool = false

/** Takes the text in [from, end), which has no escapes, for the string that was read last. */
export function setText(from: usize, end: usize): void {
  textFrom = from
  textEnd = end
  isEscaped = false
}

/** The bytes of a block that no string has as they are, but for the end of the string. */
@inline
export function special(block: v128): v128 {
  return v128.or(
    v128.or(i8x16.eq(block, i8x16.splat(QUOTE)), i8x16.eq(block, i8x16.splat(BACKSLASH))),
    i8x16.lt_u(block, i8x16.splat(SPACE)),
  )
}

/** The string whose opening quote is at `at`. */
export function readString(): void {
  const bodyEnd = at + bytesLeft()
  let place = at + 1
  setText(place, place)
  while (place < bodyEnd) {
    const block = v128.load(place)
    const hits = i8x16.bitmask(special(block))
    if (hits == 0) {
      place += BLOCK
      continue
    }
    place += <usize>ctz(hits)
    const byte = load<u8>(place)
    if (byte == QUOTE) {
      textEnd = place
      return readOn(place + 1)
    }
    if (byte != BACKSLASH) break
    isEscaped = true
    place = escapeEnd(place)
  }
  invalidJson()
}

/** Steps over the text of `size` bytes, at most 32, at `other`; returns false when it differs. */
export function skipText(other: usize, size: usize): bool {
  if (bytesLeft() < size || !isSameBlock(at, other, size)) return false
  if (size > BLOCK && !isSameBlock(at + BLOCK, other + BLOCK, size - BLOCK)) return false
  readOn(at + size)
  return true
}

/** True when both begin with the same `size` bytes, as far as these are in one block. */
@inline
function isSameBlock(one: usize, other: usize, size: usize): bool {
  const differences = ~i8x16.bitmask(i8x16.eq(v128.load(one), v128.load(other)))
  return (differences & ((1 << <i32>min(size, BLOCK)) - 1)) == 0
}

/** The name of a member, and the colon behind it. */
export function readName(): void {
  if (next() != QUOTE) invalidJson()
  readString()
  expect(COLON)
}

/** The end of the escape that begins at `place`. */
export function escapeEnd(place: usize): usize {
  const letter = load<u8>(place, 1)
  if (letter != LOWER_U) {
    if (escapedByte(letter) == 0) invalidJson()
    return place + 2
  }
  for (let digit: usize = 2; digit < 6; digit++) {
    if (hexValue(load<u8>(place + digit)) > 15) invalidJson()
  }
  return place + 6
}

/** By byte: whether it stands behind the backslash of an escape as rows have it. */
const letters: usize = memory.data(256, 16)

/** Called by the host at its start. */
export function prepareEscapes(): void {
  for (let byte = 0; byte < 256; byte++) {
    const isOne = byte != SLASH && escapedByte(<u8>byte) != 0
    store<u8>(letters + byte, isOne ? 1 : 0)
  }
}

/** Whether a backslash and this letter are the escape that the rows have for that character. */
@inline
export function isLetter(letter: u8): bool {
  return load<u8>(letters + letter) != 0
}

/** The byte that a backslash and this letter are; 0 when they are none. */
export function escapedByte(letter: u8): u8 {
  switch (letter) {
    case QUOTE:
    case BACKSLASH:
    case SLASH:
      return letter
    case 0x62: // b
      return 0x08
    case 0x66: // f
      return 0x0c
    case 0x6e: // n
      return 0x0a
    case 0x72: // r
      return 0x0d
    case 0x74: // t
      return 0x09
    default:
      return 0
  }
}

/** The value of a hexadecimal digit; more than 15 for any other byte. */
export function hexValue(byte: u8): u32 {
  const digit = <u32>byte - 0x30
  if (digit <= 9) return digit
  const letter = (<u32>byte | 0x20) - 0x61
  return letter < 6 ? letter + 10 : 16
}

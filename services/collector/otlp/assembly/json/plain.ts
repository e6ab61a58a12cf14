import { BLOCK } from '../output'
import { at, bytesLeft, QUOTE } from './reader'
import { BACKSLASH, isLetter, special } from './string'

/** Texts and numbers in the form in which encoders write them. */

/** How many escapes the text has that was scanned last. */
export let escapes: usize = 0

/**
 * The end of the text that begins at `place`, behind its quote; 0 when it has none within the body,
 * or escapes that the rows have in another way.
 */
export function scanText(place: usize): usize {
  const bodyEnd = at + bytesLeft()
  escapes = 0
  while (place < bodyEnd) {
    let hits = i8x16.bitmask(special(v128.load(place)))
    let next = place + BLOCK
    while (hits != 0) {
      const lane = <usize>ctz(hits)
      const byte = load<u8>(place + lane)
      if (byte == QUOTE) return place + lane
      if (byte != BACKSLASH || !isLetter(load<u8>(place + lane, 1))) return 0
      escapes++
      // The letter may be a quote or a backslash, or the first byte of the next block.
      hits &= ~(3 << <i32>lane)
      if (lane == BLOCK - 1) next++
    }
    place = next
  }
  return 0
}

/** Copies in blocks, of which the last may end beyond the text. */
@inline
export function copyText(to: usize, from: usize, end: usize): void {
  for (; from < end; from += BLOCK) {
    v128.store(to, v128.load(from))
    to += BLOCK
  }
}

/**
 * Copies a text up to its quote, or to what else no text has as it is, or to `most` bytes; returns
 * how many it has.
 */
@inline
export function copyShort(to: usize, from: usize, most: usize): usize {
  let size: usize = 0
  do {
    const block = v128.load(from + size)
    v128.store(to + size, block)
    const hits = i8x16.bitmask(special(block))
    if (hits != 0) return size + <usize>ctz(hits)
    size += BLOCK
  } while (size < most)
  return size
}

const ZEROS: u64 = 0x3030303030303030
const HIGH_HALVES: u64 = 0xf0f0f0f0f0f0f0f0

/** Whether the eight bytes at `place` are digits. */
@inline
export function areDigits(place: usize): bool {
  const bytes = load<u64>(place)
  // Of other bytes the high half is not 3, or becomes 4 when 6 are added.
  return (bytes & (bytes + 0x0606060606060606) & HIGH_HALVES) == ZEROS
    && (bytes & HIGH_HALVES) == ZEROS
}

/** The number that eight digits are: of pairs, then of fours, then of all. */
@inline
export function eightDigits(place: usize): u64 {
  let value = load<u64>(place) - ZEROS
  value = (value * 10 + (value >> 8)) & 0x00ff00ff00ff00ff
  value = (value * 100 + (value >> 16)) & 0x0000ffff0000ffff
  return (value * 10000 + (value >> 32)) & 0xffffffff
}

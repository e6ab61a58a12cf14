import { invalidJson } from './host'

/** Where a JSON text is read, and what stands between its values. What is no JSON is raised. */

/** The place of the next byte to read. */
export let at: usize = 0
/** The end of the body: bytes beyond belong to others. */
let bodyEnd: usize = 0

/** Reads the text in [from, end) next. */
export function readBetween(from: usize, end: usize): void {
  at = from
  bodyEnd = end
}

/** Bytes that were not read yet. */
export function bytesLeft(): usize {
  return bodyEnd - at
}

export const SPACE: u8 = 0x20
const TAB: u8 = 0x09
const LINE_FEED: u8 = 0x0a
const CARRIAGE_RETURN: u8 = 0x0d
export const QUOTE: u8 = 0x22
export const COMMA: u8 = 0x2c
export const BRACE: u8 = 0x7b
export const BRACE_END: u8 = 0x7d
export const BRACKET: u8 = 0x5b
export const BRACKET_END: u8 = 0x5d

/** The next byte that is no white space, which `at` then is the place of; 0 at the end. */
export function next(): u8 {
  while (at < bodyEnd) {
    const byte = load<u8>(at)
    if (byte > SPACE || !isSpace(byte)) return byte
    at++
  }
  return 0
}

function isSpace(byte: u8): bool {
  return byte == SPACE || byte == LINE_FEED || byte == CARRIAGE_RETURN || byte == TAB
}

/** Goes on reading behind a value that ended before `place`. Raises an error beyond the end. */
@inline
export function readOn(place: usize): void {
  if (place > bodyEnd) invalidJson()
  at = place
}

/** Steps over the byte that has to be here. */
@inline
export function expect(byte: u8): void {
  if (next() != byte) invalidJson()
  at++
}

/** Steps over the opening bracket or brace here. Returns false when the closing one follows. */
export function opens(closing: u8): bool {
  at++
  if (next() != closing) return true
  at++
  return false
}

/** Steps over the comma or the closing bracket or brace here. Returns true for the comma. */
@inline
export function continues(closing: u8): bool {
  const byte = at < bodyEnd ? load<u8>(at) : 0
  // Encoders write no space before it: the look for one is a call.
  if (byte != COMMA && byte != closing) return continuesBehindSpace(closing)
  at++
  return byte == COMMA
}

function continuesBehindSpace(closing: u8): bool {
  const byte = next()
  if (byte != COMMA && byte != closing) invalidJson()
  at++
  return byte == COMMA
}

/** Steps over `rest`, four letters that end `size` bytes from here. */
export function readLiteral(rest: u32, size: usize): void {
  if (bytesLeft() < size || load<u32>(at + size - 4) != rest) invalidJson()
  at += size
}

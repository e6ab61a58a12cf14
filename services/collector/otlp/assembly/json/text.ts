import { BLOCK } from '../output'
import { invalidJson } from './host'
import { at, bytesLeft, QUOTE, readOn } from './reader'
import { BACKSLASH, escapedByte, escapeEnd, hexValue, setText, special } from './string'
import { textEnd, textFrom } from './string'

/** Writing strings without the escapes of JSON. */

/** `\u` */
const UNICODE_ESCAPE: u16 = 0x755c
const REPLACEMENT: u32 = 0xfffd

/**
 * Writes the content of the string whose opening quote is here to `to`, which has room for all that
 * is left of the body; returns where it ends.
 */
export function writeString(to: usize): usize {
  let from = at + 1
  const end = from + bytesLeft() - 1
  while (from < end) {
    const block = v128.load(from)
    v128.store(to, block)
    const hits = i8x16.bitmask(special(block))
    if (hits == 0) {
      from += BLOCK
      to += BLOCK
      continue
    }
    const plain = <usize>ctz(hits)
    from += plain
    to += plain
    const byte = load<u8>(from)
    if (byte == QUOTE) {
      readOn(from + 1)
      return to
    }
    if (byte != BACKSLASH) break
    to = writeEscape(from, to)
    from = escapeStop
  }
  invalidJson()
  return to
}

/** Writes the text that was read last there, and takes that for the text that was read last. */
export function unescapeTo(to: usize): void {
  const start = to
  let from = textFrom
  while (from < textEnd) {
    if (load<u8>(from) != BACKSLASH) store<u8>(to++, load<u8>(from++))
    else {
      to = writeEscape(from, to)
      from = escapeStop
    }
  }
  setText(start, to)
}

/** The end of the escape that was written last, or of the two that are one character. */
let escapeStop: usize = 0

/** Writes what the escape at `from` stands for. */
function writeEscape(from: usize, to: usize): usize {
  const byte = escapedByte(load<u8>(from, 1))
  if (byte == 0) return writeUnicode(from, to)
  escapeStop = from + 2
  store<u8>(to, byte)
  return to + 1
}

/** Half a character, which UTF-8 cannot have, becomes U+FFFD. */
function writeUnicode(from: usize, to: usize): usize {
  escapeStop = escapeEnd(from)
  let code = unit(from)
  if (code >> 11 == 0x1b) {
    const second = escapeStop
    const low = load<u16>(second) == UNICODE_ESCAPE ? unit(second) : 0
    if (code < 0xdc00 && low >> 10 == 0x37) {
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
      escapeStop = escapeEnd(second)
    } else code = REPLACEMENT
  }
  return writeUtf8(to, code)
}

/** The four digits behind `\u`. */
function unit(from: usize): u32 {
  let value: u32 = 0
  for (let digit: usize = 2; digit < 6; digit++) {
    value = (value << 4) | hexValue(load<u8>(from + digit))
  }
  return value
}

function writeUtf8(to: usize, code: u32): usize {
  if (code < 0x80) {
    store<u8>(to, <u8>code)
    return to + 1
  }
  if (code < 0x800) {
    store<u8>(to, <u8>(0xc0 | (code >> 6)))
    store<u8>(to, continuation(code), 1)
    return to + 2
  }
  if (code < 0x10000) {
    store<u8>(to, <u8>(0xe0 | (code >> 12)))
    store<u8>(to, continuation(code >> 6), 1)
    store<u8>(to, continuation(code), 2)
    return to + 3
  }
  store<u8>(to, <u8>(0xf0 | (code >> 18)))
  store<u8>(to, continuation(code >> 12), 1)
  store<u8>(to, continuation(code >> 6), 2)
  store<u8>(to, continuation(code), 3)
  return to + 4
}

@inline
function continuation(bits: u32): u8 {
  return <u8>(0x80 | (bits & 0x3f))
}

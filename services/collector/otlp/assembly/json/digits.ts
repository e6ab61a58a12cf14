import { invalidJson } from './host'
import { at, bytesLeft, readOn } from './reader'
import { setText } from './string'

/** Numbers as they stand in a JSON text. */

const MINUS: u8 = 0x2d
const PLUS: u8 = 0x2b
const POINT: u8 = 0x2e
const ZERO: u8 = 0x30
const LOWER_E: u8 = 0x65

/** Where the number that was read last begins and ends. */
export let numberFrom: usize = 0
export let numberEnd: usize = 0
export let isNegative: bool = false
/** Whether it has neither a fraction nor an exponent. */
export let isWhole: bool = false
export let hasExponent: bool = false
/** Its digits as one number, without the point and the exponent; wrong for more than 19. */
export let digits: u64 = 0
/** How many these are, and how many of them stand behind the point. */
export let digitCount: usize = 0
export let fractionDigits: usize = 0
/** A double holds every whole number with fewer digits. */
export const LONG_DIGITS: usize = 16

let bodyEnd: usize = 0

/**
 * The number here. Returns false for a whole number that a double may not hold: that is read as the
 * text of its digits, which OTLP has in quotes, and may begin with 0.
 */
export function readNumber(): bool {
  bodyEnd = at + bytesLeft()
  numberFrom = at
  isNegative = byteAt(at) == MINUS
  const first = isNegative ? at + 1 : at
  digits = 0
  let end = readDigits(first)
  digitCount = end - first
  fractionDigits = 0
  const wholeEnd = end
  end = readExponent(readFraction(end))
  isWhole = end == wholeEnd
  const isLong = isWhole && digitCount >= LONG_DIGITS
  if (!isLong && wholeEnd - first > 1 && load<u8>(first) == ZERO) invalidJson()
  numberEnd = end
  readOn(end)
  if (isLong) setText(numberFrom, end)
  return !isLong
}

/** 0 beyond the end of the body. */
@inline
function byteAt(place: usize): u8 {
  return place < bodyEnd ? load<u8>(place) : 0
}

/** Adds the digits at `place`, of which there has to be one, to `digits`; returns their end. */
function readDigits(place: usize): usize {
  const first = place
  let value = digits
  for (; place < bodyEnd; place++) {
    const digit = <u32>load<u8>(place) - ZERO
    if (digit > 9) break
    value = value * 10 + digit
  }
  digits = value
  if (place == first) invalidJson()
  return place
}

function readFraction(place: usize): usize {
  if (byteAt(place) != POINT) return place
  const end = readDigits(place + 1)
  fractionDigits = end - place - 1
  digitCount += fractionDigits
  return end
}

function readExponent(place: usize): usize {
  hasExponent = (byteAt(place) | 0x20) == LOWER_E
  if (!hasExponent) return place
  const sign = byteAt(++place)
  return readDigits(sign == PLUS || sign == MINUS ? place + 1 : place)
}

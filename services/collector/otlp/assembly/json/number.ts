import { JSON_NOT_32_BITS, JSON_NOT_64_BITS, JSON_NOT_A_BOOLEAN } from '../constants'
import { JSON_NOT_A_NUMBER, JSON_NOT_WHOLE } from '../constants'
import { parseDouble, parseNumber } from './host'
import { digitCount, digits, fractionDigits, hasExponent, isNegative } from './digits'
import { isWhole, LONG_DIGITS, numberEnd, numberFrom } from './digits'
import { textEnd, textFrom } from './string'
import { FALSE, kind, NUMBER, TEXT, TRUE } from './value'

/** The numbers that the value read last can be, and what is written as one. */

/** Why it is not the number that was asked for; 0 when it is. */
export let numberProblem: u32 = 0

/** Without its sign. */
let magnitude: u64 = 0
let isBelowZero: bool = false
/** Whether it has more than 64 bits. */
let isTooLong: bool = false

const MINUS: u8 = 0x2d
const ZERO: u8 = 0x30
/** 2^63, which is the smallest number with a sign. */
const SIGN: u64 = 0x8000000000000000
const TWO_64: f64 = 18446744073709551616.0

/** 64 bits, with a sign or as those of the number with it. */
export function readInt64(): u64 {
  readWhole()
  const limit = isBelowZero ? SIGN : SIGN - 1
  if (numberProblem == 0 && (isTooLong || magnitude > limit)) numberProblem = JSON_NOT_64_BITS
  return signed()
}

/** 64 bits without a sign. */
export function readUint64(): u64 {
  readWhole()
  const isOutside = isTooLong || (isBelowZero && magnitude != 0)
  if (numberProblem == 0 && isOutside) numberProblem = JSON_NOT_64_BITS
  return magnitude
}

/** 32 bits without a sign. */
export function readUint32(): u32 {
  readWhole()
  const isOutside = isTooLong || magnitude > <u64>u32.MAX_VALUE || (isBelowZero && magnitude != 0)
  if (numberProblem == 0 && isOutside) numberProblem = JSON_NOT_32_BITS
  return <u32>magnitude
}

@inline
function signed(): u64 {
  return isBelowZero ? 0 - magnitude : magnitude
}

/** A number in quotes has at most 20 digits; an empty text is 0. */
const MAX_DIGITS: usize = 20

function readWhole(): void {
  numberProblem = 0
  isTooLong = false
  const isNumber = kind == NUMBER ? readWholeNumber() : kind == TEXT && readWholeText()
  if (!isNumber) numberProblem = JSON_NOT_WHOLE
}

function readWholeText(): bool {
  let from = textFrom
  magnitude = 0
  isBelowZero = false
  if (from == textEnd) return true
  if (load<u8>(from) == MINUS) {
    isBelowZero = true
    from++
  }
  if (from == textEnd || textEnd - from > MAX_DIGITS) return false
  const first = from
  for (; from < textEnd; from++) {
    const digit = <u32>load<u8>(from) - ZERO
    if (digit > 9) return false
    // Only the last of 20 digits can be one too many.
    const isLast = from - first == MAX_DIGITS - 1
    if (isLast && magnitude > (u64.MAX_VALUE - digit) / 10) isTooLong = true
    magnitude = magnitude * 10 + digit
  }
  return true
}

function readWholeNumber(): bool {
  isBelowZero = isNegative
  magnitude = digits
  return isWhole || readDouble(parseNumber(numberFrom, numberEnd))
}

/** Numbers such as 1e3 are whole too. */
function readDouble(value: f64): bool {
  // Neither infinite nor with a fraction.
  const absolute = abs(value)
  if (!(absolute <= f64.MAX_VALUE) || trunc(value) != value) return false
  isTooLong = absolute >= TWO_64
  magnitude = isTooLong ? lowBits(absolute) : <u64>absolute
  return true
}

const MANTISSA_BITS: u64 = 52

/** The lowest 64 bits of a whole number that has more. */
function lowBits(value: f64): u64 {
  const bits = reinterpret<u64>(value)
  const mantissa = (bits & ((1 << MANTISSA_BITS) - 1)) | (1 << MANTISSA_BITS)
  const shift = (bits >> MANTISSA_BITS) - 1023 - MANTISSA_BITS
  return shift < 64 ? mantissa << shift : 0
}

/** No kind and no status code. */
const NOT_AN_ENUM: u64 = 0x7fffffff

/** The number of a kind or a status code: never a text. What is none is one that is refused. */
export function readEnum(): u64 {
  numberProblem = 0
  const isNumber = kind == NUMBER && readWholeNumber()
  return isNumber ? signed() : NOT_AN_ENUM
}

/** True or false. */
export function readBool(): bool {
  numberProblem = kind == TRUE || kind == FALSE ? 0 : JSON_NOT_A_BOOLEAN
  return kind == TRUE
}

/** A double, as a number or in quotes. */
export function readFloat64(): f64 {
  numberProblem = 0
  if (kind == NUMBER) return readJsonNumber()
  if (kind == TEXT) {
    const value = parseDouble(textFrom, textEnd)
    if (!isNaN(value) || isTextNaN()) return value
  }
  numberProblem = JSON_NOT_A_NUMBER
  return 0
}

const POWERS: StaticArray<f64> = [
  1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
]

/** Few digits divided by a power of ten are exact but for the one rounding that a double needs. */
function readJsonNumber(): f64 {
  if (hasExponent || digitCount >= LONG_DIGITS) return parseNumber(numberFrom, numberEnd)
  const value = <f64>digits / unchecked(POWERS[<i32>fractionDigits])
  return isNegative ? -value : value
}

/** `NaN` */
function isTextNaN(): bool {
  if (textEnd - textFrom != 3) return false
  return load<u16>(textFrom) == 0x614e && load<u8>(textFrom, 2) == 0x4e
}

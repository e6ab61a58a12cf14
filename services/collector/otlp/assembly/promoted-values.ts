import { ANY_VALUE_DOUBLE_VALUE, ANY_VALUE_INT_VALUE, ANY_VALUE_JSON_TEXT } from './constants'
import { ANY_VALUE_STRING_VALUE, MAX_COLUMN_BYTES, MAX_PROMOTED_COLUMNS } from './constants'
import { MAX_SAFE_INTEGER } from './constants'
import { parseNumber } from './host'
import { valueEndOf, valueOf } from './key-value'
import { columnOf, findKey, isJsonOf, rankOf } from './promoted-keys'
import { after, fixedAt, isOwn, readEnd, readTag, readVarint, skipField } from './protobuf'

/** By column: the rank of the best key that was found, and where its value begins and ends. */
const ranks: usize = memory.data(MAX_PROMOTED_COLUMNS, 16)
const values: usize = memory.data(MAX_PROMOTED_COLUMNS * 8, 16)
/** By column: the number itself, where the value begins at 0. */
const numbers: usize = memory.data(MAX_PROMOTED_COLUMNS * 8, 16)
/** By column: 1 when the text is a string of JSON. */
const jsonTexts: usize = memory.data(MAX_PROMOTED_COLUMNS, 16)
/** A rank that no key has. */
export const NO_RANK: u8 = 255

/** Forgets the last span's values of the first `all` columns. */
export function clearValues(all: usize): void {
  for (let i: usize = 0; i < all; i += 16) v128.store(ranks + i, i8x16.splat(NO_RANK))
}

/**
 * Notes the pair's value for the column of its key, unless a better key was there. Returns the
 * entry of the key; 0 for one that is not promoted.
 */
export function promote(hash: u32, pair: usize): usize {
  const entry = findKey(hash, pair)
  if (entry == 0) return 0
  const column = columnOf(entry)
  const rank = rankOf(entry)
  if (rank > load<u8>(ranks + column)) return entry
  store<u8>(ranks + column, rank)
  store<u8>(jsonTexts + column, isJsonOf(entry) ? 1 : 0)
  store<u32>(values + (column << 3), <u32>valueOf(pair))
  store<u32>(values + (column << 3), <u32>valueEndOf(pair), 4)
  return entry
}

/**
 * True when the column has all that the pair says: its value as it is, a text, or a count where
 * `isCount`.
 */
export function isInColumn(column: usize, isCount: bool, pair: usize): bool {
  const at = valueOf(pair)
  if (!isPromoted(column) || valueAt(column) != at) return false
  if (load<u8>(jsonTexts + column) != 0) return false
  const end = valueEndOf(pair)
  const tag = readTag(at)
  if (!isCount) return tag == ANY_VALUE_STRING_VALUE && readEnd(after, end) == end
  return tag == ANY_VALUE_INT_VALUE && readVarint(after) <= MAX_SAFE_INTEGER && after == end
}

/** Notes a number that a document has, unless a better key was there. Called by the host. */
export function setNumber(column: u32, rank: u32, value: f64): void {
  if (rank > <u32>load<u8>(ranks + column)) return
  store<u8>(ranks + column, <u8>rank)
  store<u64>(values + ((<usize>column) << 3), 0)
  store<f64>(numbers + ((<usize>column) << 3), value)
}

/** By column: a text of its own, where the value begins at 0 and ends behind its bytes. */
export const ownTexts: usize = memory.data(MAX_PROMOTED_COLUMNS * MAX_COLUMN_BYTES, 16)

/**
 * Notes a text of `size` bytes that the host has written to the column's place in `ownTexts`,
 * unless a better key was there.
 */
export function setText(column: u32, rank: u32, size: u32): void {
  if (rank > <u32>load<u8>(ranks + column)) return
  store<u8>(ranks + column, <u8>rank)
  store<u32>(values + ((<usize>column) << 3), 0)
  store<u32>(values + ((<usize>column) << 3), size + 1, 4)
}

/** Gives one column the value of another, as that of its best key. */
export function copyValue(from: usize, to: usize): void {
  store<u8>(ranks + to, 0)
  store<u8>(jsonTexts + to, 0)
  store<u64>(values + (to << 3), load<u64>(values + (from << 3)))
}

/** Takes the value of a column away. */
export function clearValue(column: usize): void {
  store<u8>(ranks + column, NO_RANK)
}

/** The rank of the key that the column has its value from; `NO_RANK` without one. */
@inline
export function rankAt(column: usize): u8 {
  return load<u8>(ranks + column)
}

/** True when the column has a value. */
@inline
export function isPromoted(column: usize): bool {
  return load<u8>(ranks + column) != NO_RANK
}

@inline
function valueAt(column: usize): usize {
  return <usize>load<u32>(values + (column << 3))
}

@inline
function valueEnd(column: usize): usize {
  return <usize>load<u32>(values + (column << 3), 4)
}

/** The column's value: an int, a double, or a short string of a number. NaN for anything else. */
export function readNumber(column: usize): f64 {
  const at = valueAt(column)
  const end = valueEnd(column)
  if (at == 0) return load<f64>(numbers + (column << 3))
  if (at >= end) return NaN
  const tag = readTag(at)
  const from = after
  if (tag == ANY_VALUE_INT_VALUE) return <f64>(<i64>readVarint(from))
  if (tag == ANY_VALUE_DOUBLE_VALUE) return load<f64>(fixedAt(from, end, 8))
  if (tag == ANY_VALUE_STRING_VALUE) {
    const stop = readEnd(from, end)
    return parseNumber(after, stop)
  }
  // Of a text with escapes in its first bytes neither form is a number.
  if (isOwn && tag == ANY_VALUE_JSON_TEXT) return parseNumber(pointedFrom(at), pointedEnd(at))
  skipField(tag, from, end)
  return NaN
}

/** The place of the text that was looked for last, its bytes, and whether it has JSON's escapes. */
export let textAt: usize = 0
export let textSize: usize = 0
export let isJsonText: bool = false

/** The place of the text that a value points to, in a body in JSON, and its end. */
@inline
function pointedFrom(value: usize): usize {
  return <usize>load<u32>(value, 2)
}

@inline
function pointedEnd(value: usize): usize {
  return <usize>load<u32>(value, 6)
}

/** The end of the column's value if it is a string, which begins at `textAt`; else 0. */
export function textEnd(column: usize): usize {
  const at = valueAt(column)
  const end = valueEnd(column)
  if (at >= end) return 0
  if (at == 0) return ownTextEnd(column, end - 1)
  const tag = readTag(at)
  isJsonText = isOwn && tag == ANY_VALUE_JSON_TEXT
  if (isJsonText) {
    // Too long for a column or a word in either form.
    textAt = pointedFrom(at)
    textSize = <usize>load<u32>(at, 10)
    return pointedEnd(at)
  }
  if (tag != ANY_VALUE_STRING_VALUE) return 0
  let stop = readEnd(after, end)
  textAt = after
  if (load<u8>(jsonTexts + column) != 0) stop = withoutQuotes(stop)
  textSize = stop - textAt
  return stop
}

function ownTextEnd(column: usize, size: usize): usize {
  isJsonText = false
  textAt = ownTexts + column * MAX_COLUMN_BYTES
  textSize = size
  return textAt + size
}

const QUOTE: u8 = 0x22
const BACKSLASH: u8 = 0x5c

/** Leaves out the quotes of the string of JSON that begins at `textAt`, if it has no escapes. */
function withoutQuotes(end: usize): usize {
  const from = textAt
  if (end - from < 2 || load<u8>(from) != QUOTE || load<u8>(end - 1) != QUOTE) return end
  for (let at = from + 1; at < end - 1; at++) {
    if (load<u8>(at) == BACKSLASH) return end
  }
  textAt = from + 1
  return end - 1
}

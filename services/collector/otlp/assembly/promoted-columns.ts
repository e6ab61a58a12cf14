import { ANY_VALUE_DOUBLE_VALUE, ANY_VALUE_INT_VALUE, ANY_VALUE_JSON_TEXT } from './constants'
import { ANY_VALUE_STRING_VALUE } from './constants'
import { MAX_COLUMN_BYTES, MAX_DOCUMENT_BYTES, MAX_PROMOTED_COLUMNS } from './constants'
import { MAX_SAFE_INTEGER } from './constants'
import { FIELD_BYTES, writeFloat8, writeInt8, writeNull } from './fields'
import { beginField, endField } from './fields'
import { parseNumber, readDocument } from './host'
import { valueEndOf, valueOf } from './key-value'
import { offsetOf, room, writeSigned } from './output'
import { isModelKind, kindOfName, kindOfWord, kindText, kindTextEnd } from './kinds'
import { columnOf, findKey, isJsonOf, rankOf } from './promoted-keys'
import { after, fixedAt, isOwn, readEnd, readTag, readVarint, skipField } from './protobuf'
import { isSameText, takeText } from './table-texts'
import { writeText } from './text'

/**
 * The columns that are filled from attributes: counts first, then numbers, then texts. Behind them
 * are two that no row has: the name of an entity, and the documents that hold numbers.
 */
let counts: usize = 0
let firstText: usize = 0
let columns: usize = 0
let documents: usize = 0
/** The column with the library's word for the operation. */
let operation: usize = 0

/** Called by the host at its start. */
export function setPromoted(ofCounts: u32, ofNumbers: u32, ofTexts: u32, ofDocuments: u32): void {
  counts = ofCounts
  firstText = ofCounts + ofNumbers
  columns = firstText + ofTexts
  documents = ofDocuments
}

/** Called by the host at its start. */
export function setOperation(column: u32): void {
  operation = column
}

/** The kind of a call without a word, and a bit for each column of which it has one. */
let bareCall: u32 = 0
let modelBits: u32 = 0
let tokenBits: u32 = 0

/** Called by the host at its start. */
export function setBareCall(kindOfCall: u32, models: u32, tokens: u32): void {
  bareCall = kindOfCall
  modelBits = models
  tokenBits = tokens
}

/** By kind: the column that the entity names, and one more; 0 for none. */
const entityColumns: usize = memory.data(MAX_PROMOTED_COLUMNS, 16)

/** Called by the host at its start. */
export function setEntityColumn(kindOfEntity: u32, column: u32): void {
  store<u8>(entityColumns + kindOfEntity, <u8>(column + 1))
}

/** By column: the rank of the best key that was found, and where its value begins and ends. */
const ranks: usize = memory.data(MAX_PROMOTED_COLUMNS, 16)
const values: usize = memory.data(MAX_PROMOTED_COLUMNS * 8, 16)
/** By column: the number itself, where the value begins at 0. */
const numbers: usize = memory.data(MAX_PROMOTED_COLUMNS * 8, 16)
/** By column: 1 when the text is a string of JSON. */
const jsonTexts: usize = memory.data(MAX_PROMOTED_COLUMNS, 16)
/** A rank that no key has. */
const NO_RANK: u8 = 255

/** Forgets the last span's values. */
export function clearPromoted(): void {
  const all = columns + 1 + documents
  for (let i: usize = 0; i < all; i += 16) v128.store(ranks + i, i8x16.splat(NO_RANK))
}

/** Notes the pair's value for the column of its key, unless a better key was there. */
export function promote(hash: u32, pair: usize): void {
  const entry = findKey(hash, pair)
  if (entry == 0) return
  const column = columnOf(entry)
  const rank = rankOf(entry)
  if (rank > load<u8>(ranks + column)) return
  store<u8>(ranks + column, rank)
  store<u8>(jsonTexts + column, isJsonOf(entry) ? 1 : 0)
  store<u32>(values + (column << 3), <u32>valueOf(pair))
  store<u32>(values + (column << 3), <u32>valueEndOf(pair), 4)
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

/** The rank of the operation's key with which the name of a step is that of its span. */
let namedRank: u8 = NO_RANK
/** The word with which the name of an agent is that of a workflow, and their columns. */
let workflowWord: usize = 0
let workflowWordEnd: usize = 0
let agentColumn: usize = 0
let workflowColumn: usize = 0

/** Called by the host at its start. */
export function setNamedBySpan(rank: u32): void {
  namedRank = <u8>rank
}

/** Called by the host at its start: the word has the `size` bytes that were written last. */
export function setWorkflow(size: u32, ofAgent: u32, ofWorkflow: u32): void {
  workflowWord = takeText(size)
  workflowWordEnd = workflowWord + size
  agentColumn = ofAgent
  workflowColumn = ofWorkflow
}

/** The kind of the span; 0 for none. */
let kind: u32 = 0

/** Finds what follows from the attributes together: numbers in documents, the kind, the entity. */
export function complete(name: usize, nameEnd: usize): void {
  for (let i: usize = 0; i < documents; i++) {
    const document = columns + 1 + i
    if (!isPromoted(document)) continue
    const end = textEnd(document)
    const isShort = end != 0 && textSize <= MAX_DOCUMENT_BYTES
    if (isShort) readDocument(<u32>i, textAt, end, isJsonText)
  }
  kind = kindOf(name, nameEnd)
  const column = <usize>load<u8>(entityColumns + kind)
  if (column == 0 || isPromoted(column - 1)) return
  if (isPromoted(columns)) adoptEntity(column - 1)
  else if (load<u8>(ranks + operation) == namedRank) adoptName(column - 1, name, nameEnd)
}

function adoptName(column: usize, name: usize, nameEnd: usize): void {
  const size = nameEnd - name
  if (size == 0 || size > MAX_COLUMN_BYTES) return
  memory.copy(ownTexts + column * MAX_COLUMN_BYTES, name, size)
  setText(<u32>column, 0, <u32>size)
}

/** Moves the name that the conventions give an agent to the workflow that it is. */
function adoptWorkflow(): void {
  if (load<u8>(ranks + agentColumn) != 0 || isPromoted(workflowColumn)) return
  store<u8>(ranks + workflowColumn, 0)
  store<u8>(jsonTexts + workflowColumn, 0)
  store<u64>(values + (workflowColumn << 3), load<u64>(values + (agentColumn << 3)))
  store<u8>(ranks + agentColumn, NO_RANK)
}

function kindOf(name: usize, nameEnd: usize): u32 {
  textAt = 0
  const end = isPromoted(operation) ? textEnd(operation) : 0
  if (end > textAt) {
    if (isSameText(textAt, end, workflowWord, workflowWordEnd)) adoptWorkflow()
    return kindOfWord(textAt, end)
  }
  const named = kindOfName(name, nameEnd)
  if (named != 0) return named
  return hasAnyOf(tokenBits) && hasAnyOf(modelBits) ? bareCall : 0
}

function hasAnyOf(bits: u32): bool {
  for (; bits != 0; bits &= bits - 1) {
    if (isPromoted(<usize>ctz(bits))) return true
  }
  return false
}

function adoptEntity(column: usize): void {
  store<u8>(ranks + column, 0)
  store<u8>(jsonTexts + column, 0)
  store<u64>(values + (column << 3), load<u64>(values + (columns << 3)))
}

/** True when the span is a call of a model. */
export function isLlmCall(): bool {
  return isModelKind(kind)
}

/** The kind as a text, or null. */
export function writeKind(to: usize): usize {
  if (kind == 0) return writeNull(room(to, 4))
  return writeText(to, kindText(kind), kindTextEnd(kind))
}

@inline
function isPromoted(column: usize): bool {
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

/** The token counts and the cost. */
export function writeNumbers(to: usize): usize {
  to = room(to, firstText * FIELD_BYTES)
  for (let column: usize = 0; column < firstText; column++) {
    if (!isPromoted(column)) to = writeNull(to)
    else to = writeNumber(to, readNumber(column), column < counts)
  }
  return to
}

function writeNumber(to: usize, value: f64, isCount: bool): usize {
  if (!(value >= 0 && value <= <f64>MAX_SAFE_INTEGER)) return writeNull(to)
  if (!isCount) return writeFloat8(to, value)
  return trunc(value) == value ? writeInt8(to, bswap(<u64>value)) : writeNull(to)
}

function isWhole(value: f64): bool {
  return abs(value) <= <f64>MAX_SAFE_INTEGER && trunc(value) == value
}

/** The column's value: an int, a double, or a short string of a number. NaN for anything else. */
function readNumber(column: usize): f64 {
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

/** The model, agent, task, tool, crew and their like. */
export function writeTexts(to: usize): usize {
  for (let column = firstText; column < columns; column++) {
    to = isPromoted(column) ? writePromotedText(to, column) : writeNull(room(to, 4))
  }
  return to
}

function writePromotedText(to: usize, column: usize): usize {
  const end = textEnd(column)
  if (end != 0) {
    const isShort = textSize <= MAX_COLUMN_BYTES
    return isShort ? writeText(to, textAt, end) : writeNull(room(to, 4))
  }
  const value = readNumber(column)
  if (!isFinite(value) || !isWhole(value)) return writeNull(room(to, 4))
  const start = offsetOf(to)
  return endField(writeSigned(beginField(to), <i64>value), start)
}

/** The place of the text that was looked for last, its bytes, and whether it has JSON's escapes. */
let textAt: usize = 0
let textSize: usize = 0
let isJsonText: bool = false

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
function textEnd(column: usize): usize {
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

import { MAX_COLUMN_BYTES, MAX_DOCUMENT_BYTES, MAX_PROMOTED_COLUMNS } from './constants'
import { MAX_SAFE_INTEGER } from './constants'
import { FIELD_BYTES, writeFloat8, writeInt8, writeNull } from './fields'
import { beginField, endField } from './fields'
import { readDocument } from './host'
import { isModelKind, kindOfName, kindOfWord, kindText, kindTextEnd } from './kinds'
import { offsetOf, room, writeSigned } from './output'
import { clearValue, clearValues, copyValue, isJsonText, isPromoted } from './promoted-values'
import { NO_RANK, ownTexts, rankAt, readNumber, setText } from './promoted-values'
import { isInColumn, textAt, textEnd, textSize } from './promoted-values'
import { codeOf, columnOf } from './promoted-keys'
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

/** Forgets the last span's values. */
export function clearPromoted(): void {
  clearValues(columns + 1 + documents)
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
  if (isPromoted(columns)) copyValue(columns, column - 1)
  else if (rankAt(operation) == namedRank) adoptName(column - 1, name, nameEnd)
}

function adoptName(column: usize, name: usize, nameEnd: usize): void {
  const size = nameEnd - name
  if (size == 0 || size > MAX_COLUMN_BYTES) return
  memory.copy(ownTexts + column * MAX_COLUMN_BYTES, name, size)
  setText(<u32>column, 0, <u32>size)
}

/** Moves the name that the conventions give an agent to the workflow that it is. */
function adoptWorkflow(): void {
  if (rankAt(agentColumn) != 0 || isPromoted(workflowColumn)) return
  copyValue(agentColumn, workflowColumn)
  clearValue(agentColumn)
}

function kindOf(name: usize, nameEnd: usize): u32 {
  const end = isPromoted(operation) ? textEnd(operation) : 0
  if (end != 0 && end > textAt) {
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

/** True when the span is a call of a model. */
export function isLlmCall(): bool {
  return isModelKind(kind)
}

/** True when the column of the entry's key has all that the pair says. */
export function isKept(entry: usize, pair: usize): bool {
  const column = columnOf(entry)
  return codeOf(entry) != 0 && isInColumn(column, column < counts, pair)
}

/** The kind as a text, or null. */
export function writeKind(to: usize): usize {
  if (kind == 0) return writeNull(room(to, 4))
  return writeText(to, kindText(kind), kindTextEnd(kind))
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

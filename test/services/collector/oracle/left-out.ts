import { findLeftOut } from '../../../../services/collector/conventions/left-out-keys.ts'
import { SMALL_VALUE_BYTES } from '../../../../services/collector/otlp/limits.ts'
import { REQUEST_TAGS as TAGS } from '../../../../services/collector/otlp/tags.ts'
import { COLUMN_NAMES, FIRST_NUMBER } from './attribute-keys.ts'
import { isPromoted } from './attribute-index.ts'
import type { AttributeIndex } from './attribute-index.ts'
import { readEnd, readVarint } from './tape.ts'
import type { Tape } from './tape.ts'

/** The codes of attributes of which their column says all, by their places. */
export function findCodes(tape: Tape, index: AttributeIndex): ReadonlyMap<number, number> {
  const codes = new Map<number, number>()
  for (let place = 0; place < index.count; place++) {
    const code = codeOf(tape, index, place)
    if (code !== undefined) codes.set(place, code)
  }
  return codes
}

function codeOf(tape: Tape, index: AttributeIndex, place: number): number | undefined {
  const keyFrom = index.keyFrom[place] ?? -1
  if (keyFrom < 0) return undefined
  const kept = findLeftOut(tape.src.toString('utf8', keyFrom, index.keyEnd[place]))
  const column = COLUMN_NAMES.indexOf(kept?.column ?? '')
  if (column < 0 || !isValueOf(index, column, place)) return undefined
  const end = index.valueEnd[place] ?? 0
  tape.at = index.valueFrom[place] ?? 0
  const isWhole = column < FIRST_NUMBER ? isCount(tape, end) : isText(tape, end)
  return isWhole ? kept?.code : undefined
}

/** The column has its value from there, and it is small. */
function isValueOf(index: AttributeIndex, column: number, place: number): boolean {
  const from = index.valueFrom[place] ?? -1
  const end = index.valueEnd[place] ?? 0
  const isFrom = index.promotedFrom[column] === from && index.promotedEnd[column] === end
  return isFrom && isPromoted(index, column) && from >= 0 && end - from <= SMALL_VALUE_BYTES
}

const isCount = (tape: Tape, end: number): boolean =>
  readVarint(tape) === TAGS.anyValue.intValue &&
  readVarint(tape) <= Number.MAX_SAFE_INTEGER &&
  tape.at === end

const isText = (tape: Tape, end: number): boolean =>
  readVarint(tape) === TAGS.anyValue.stringValue && readEnd(tape, end) === end

import {
  JSONB_VERSION,
  MAX_ATTRIBUTES,
  SMALL_VALUE_BYTES,
} from '../../../../services/collector/otlp/limits.ts'
import { ABSENT, SLOTS } from './attribute-index.ts'
import type { AttributeIndex } from './attribute-index.ts'
import { findPromotedKey, hashKey, isSameKey } from './attribute-keys.ts'
import { beginField, endField, writeNull } from './copy-fields.ts'
import { writeAscii } from './json-string.ts'
import { writeComma, writeMember } from './json-value.ts'
import { findCodes } from './left-out.ts'
import { reserve } from './tape.ts'
import type { Tape } from './tape.ts'

const MAX_BASE = 2 ** 31 - 2 * MAX_ATTRIBUTES

/** Forgets the last span's attributes. */
export function clearAttributes(index: AttributeIndex): void {
  index.count = 0
  index.dropped = 0
  index.duplicates = 0
  index.rank.fill(ABSENT)
  index.base += MAX_ATTRIBUTES
  if (index.base < MAX_BASE) return
  index.base = MAX_ATTRIBUTES
  index.slots.fill(0)
}

/** Notes the attribute whose KeyValue was scanned last. */
export function addAttribute(index: AttributeIndex, tape: Tape): void {
  if (index.count === MAX_ATTRIBUTES) {
    index.dropped++
    return
  }
  const hash = hashKey(tape.srcView, tape.keyFrom, tape.keyEnd)
  claimKey(index, tape, hash)
  const place = index.count++
  index.keyFrom[place] = tape.keyFrom
  index.keyEnd[place] = tape.keyEnd
  index.valueFrom[place] = tape.valueFrom
  index.valueEnd[place] = tape.valueEnd
  promote(index, tape, hash)
}

/**
 * Takes the key's slot for the attribute at place `count`; an earlier attribute of the same key is
 * struck out.
 */
function claimKey(index: AttributeIndex, tape: Tape, hash: number): void {
  const { slots, base } = index
  let slot = hash % SLOTS
  for (;;) {
    const place = (slots[slot] ?? 0) - base
    if (place < 0) break
    if (isKeyAt(index, tape, place)) {
      index.keyFrom[place] = -1
      index.duplicates++
      break
    }
    slot = (slot + 1) % SLOTS
  }
  slots[slot] = base + index.count
}

function isKeyAt(index: AttributeIndex, tape: Tape, place: number): boolean {
  const from = index.keyFrom[place] ?? -1
  const size = (index.keyEnd[place] ?? 0) - from
  return from >= 0 && size === tape.keyEnd - tape.keyFrom && isSameKey(tape, tape.srcView, from)
}

function promote(index: AttributeIndex, tape: Tape, hash: number): void {
  if (tape.valueFrom < 0 || isEmptyText(tape)) return
  const key = findPromotedKey(tape, hash)
  if (!key || key.rank > (index.rank[key.column] ?? ABSENT)) return
  index.rank[key.column] = key.rank
  index.isJson[key.column] = key.isJson ? 1 : 0
  index.promotedFrom[key.column] = tape.valueFrom
  index.promotedEnd[key.column] = tape.valueEnd
}

/** The tag of a string, and its length of 0. */
const isEmptyText = ({ src, valueFrom, valueEnd }: Tape): boolean =>
  valueEnd - valueFrom === 2 && src[valueFrom] === 0x0a && src[valueFrom + 1] === 0

/**
 * The codes of what is in other columns, and the two attribute columns: small values as jsonb,
 * large ones as the text of a JSON object; null when there are none.
 */
export function writeAttributeFields(tape: Tape, index: AttributeIndex): void {
  const large = countLarge(index)
  const codes = findCodes(tape, index)
  writeCodes(tape, [...codes.values()])
  const isStored: Choice = (from, place) => isSmall(from, place) && !codes.has(place)
  reserve(tape, 16)
  if (index.count - index.duplicates - large - codes.size === 0) writeNull(tape)
  else {
    const start = beginField(tape)
    tape.outView.setInt8(tape.to++, JSONB_VERSION)
    writeObject(tape, index, isStored)
    endField(tape, start)
  }
  reserve(tape, 8)
  if (large === 0) return writeNull(tape)
  const start = beginField(tape)
  writeObject(tape, index, isLarge)
  endField(tape, start)
}

function writeCodes(tape: Tape, codes: readonly number[]): void {
  reserve(tape, 8 + codes.length)
  if (codes.length === 0) return writeNull(tape)
  const start = beginField(tape)
  for (const code of codes) tape.outView.setUint8(tape.to++, code)
  endField(tape, start)
}

type Choice = (index: AttributeIndex, place: number) => boolean

const valueSize = (index: AttributeIndex, place: number): number =>
  (index.valueEnd[place] ?? 0) - (index.valueFrom[place] ?? 0)

const isSmall: Choice = (index, place) => valueSize(index, place) <= SMALL_VALUE_BYTES
const isLarge: Choice = (index, place) => valueSize(index, place) > SMALL_VALUE_BYTES

function countLarge(index: AttributeIndex): number {
  let large = 0
  for (let place = 0; place < index.count; place++) {
    if ((index.keyFrom[place] ?? -1) >= 0 && isLarge(index, place)) large++
  }
  return large
}

function writeObject(tape: Tape, index: AttributeIndex, isChosen: Choice): void {
  writeAscii(tape, '{')
  let written = 0
  for (let place = 0; place < index.count; place++) {
    const keyFrom = index.keyFrom[place] ?? -1
    if (keyFrom < 0 || !isChosen(index, place)) continue
    if (written++ > 0) writeComma(tape)
    tape.keyFrom = keyFrom
    tape.keyEnd = index.keyEnd[place] ?? 0
    tape.valueFrom = index.valueFrom[place] ?? -1
    tape.valueEnd = index.valueEnd[place] ?? 0
    writeMember(tape)
  }
  writeAscii(tape, '}')
}

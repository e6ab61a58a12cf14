import { OWNER_COLUMNS } from '../roll-ups/noted-rows.ts'
import { TERM_SOURCES } from '../roll-ups/terms.ts'
import { HAS_TEXTS_KINDS } from '../search/note-texts.ts'
import { createFieldList } from './field-list.ts'
import type { FieldList } from './field-list.ts'
import { placeOf } from './row-reader.ts'
import type { RowReader } from './row-reader.ts'

const SPAN_ID = placeOf('span_id')
const PARENT = placeOf('parent_span_id')
const START = placeOf('start_time')
const DURATION = placeOf('duration_ns')
const STATUS = placeOf('status')
const IS_CALL = placeOf('llm_call')
const KIND = placeOf('operation_kind')
const OWNERS = OWNER_COLUMNS.map(placeOf)

/** Of spans that are no calls of models. */
export const NAME_SOURCES = TERM_SOURCES.filter(({ isOfCalls }) => isOfCalls !== true)
const NAMES = NAME_SOURCES.map(({ column, unlike }) => ({
  place: placeOf(column),
  unlike: unlike === undefined ? -1 : placeOf(unlike),
}))

/** The last column that is read. */
export const LAST_SUMMED = Math.max(KIND, ...OWNERS, ...NAMES.map(({ place }) => place))

/** The status of a span that failed. */
export const FAILED = 2
/** A trace with more of a kind is left to the leader. */
const MAX_NAMES_OF_A_KIND = 50

/** What the rows of a trace add up to; times are microseconds since 2000. */
export interface TraceSums {
  /** Where the row of the root begins, or else that of the first span. */
  headAt: number
  headUs: number
  isRooted: boolean
  spans: number
  errorSpans: number
  firstUs: number
  lastUs: number
  /** `-Infinity` while no span has an end. */
  endUs: number
  hasTexts: boolean
  /** For each of `OWNER_COLUMNS`. */
  readonly owners: readonly FieldList[]
  /** For each of `NAME_SOURCES`. */
  readonly names: readonly FieldList[]
}

const NOTHING = {
  headAt: 0,
  headUs: Infinity,
  isRooted: false,
  spans: 0,
  errorSpans: 0,
  firstUs: Infinity,
  lastUs: -Infinity,
  endUs: -Infinity,
  hasTexts: false,
}

/**
 * Sums the rows of one trace after the other up. Returns undefined where its spans have to be read:
 * for calls of models, too many names, and a duration that is not exact.
 */
export function createTraceSums(
  reader: RowReader,
): (rows: readonly number[]) => TraceSums | undefined {
  const createList = (): FieldList => createFieldList(reader, MAX_NAMES_OF_A_KIND)
  const sums = { ...NOTHING, owners: OWNERS.map(createList), names: NAMES.map(createList) }
  const lists = [...sums.owners, ...sums.names]
  return (rows) => {
    Object.assign(sums, NOTHING)
    for (const list of lists) list.clear()
    for (const at of rows) {
      reader.open(at)
      if (reader.isTrue(IS_CALL) || !addTimes(sums, reader, at)) return undefined
      sums.spans += 1
      if (reader.int2(STATUS) === FAILED) sums.errorSpans += 1
      sums.hasTexts ||= mayHaveTexts(reader)
      addOwners(sums.owners, reader)
      addNames(sums.names, reader)
    }
    return lists.every((list) => list.count() <= MAX_NAMES_OF_A_KIND) ? sums : undefined
  }
}

/** Returns false for a duration that is not exact. */
function addTimes(sums: TraceSums, reader: RowReader, at: number): boolean {
  const startUs = reader.int8(START)
  const isRoot = reader.size(PARENT) < 0
  const isEarlier =
    startUs < sums.headUs || (startUs === sums.headUs && hasLesserId(reader, at, sums.headAt))
  if (isRoot === sums.isRooted ? isEarlier : isRoot) {
    sums.headAt = at
    sums.headUs = startUs
    sums.isRooted = isRoot
  }
  if (startUs < sums.firstUs) sums.firstUs = startUs
  if (startUs > sums.lastUs) sums.lastUs = startUs
  if (reader.size(DURATION) < 0) return true
  const durationNs = reader.int8(DURATION)
  sums.endUs = Math.max(sums.endUs, startUs + Math.trunc(durationNs / 1000))
  return Number.isSafeInteger(durationNs)
}

/** The reader is at the first of the two rows, and is there again afterwards. */
function hasLesserId(reader: RowReader, at: number, other: number): boolean {
  const id = reader.bigint(SPAN_ID)
  reader.open(other)
  const isLesser = id < reader.bigint(SPAN_ID)
  reader.open(at)
  return isLesser
}

function mayHaveTexts(reader: RowReader): boolean {
  const size = reader.size(KIND)
  if (size < 0) return false
  if (reader.size(PARENT) < 0) return true
  const begin = reader.begin(KIND)
  return HAS_TEXTS_KINDS.includes(reader.bytes().toString('latin1', begin, begin + size))
}

function addOwners(owners: readonly FieldList[], reader: RowReader): void {
  for (let nr = 0; nr < OWNERS.length; nr++) {
    const place = OWNERS[nr] ?? 0
    if (reader.size(place) >= 0) owners[nr]?.add(reader.begin(place), reader.size(place))
  }
}

function addNames(names: readonly FieldList[], reader: RowReader): void {
  for (let nr = 0; nr < NAMES.length; nr++) {
    const { place = 0, unlike = -1 } = NAMES[nr] ?? {}
    if (reader.size(place) < 0 || (unlike >= 0 && isSame(reader, place, unlike))) continue
    names[nr]?.add(reader.begin(place), reader.size(place))
  }
}

function isSame(reader: RowReader, place: number, other: number): boolean {
  const size = reader.size(place)
  if (size !== reader.size(other)) return false
  const bytes = reader.bytes()
  const [one, two] = [reader.begin(place), reader.begin(other)]
  for (let at = 0; at < size; at++) if (bytes[one + at] !== bytes[two + at]) return false
  return true
}

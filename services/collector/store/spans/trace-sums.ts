import { OWNER_COLUMNS } from '../roll-ups/noted-rows.ts'
import { TERM_SOURCES } from '../roll-ups/terms.ts'
import { HAS_TEXTS_KINDS } from '../search/note-texts.ts'
import type { CallPrices } from '../roll-ups/call-price.ts'
import { createDoubtfulCalls, LAST_DOUBTED } from './doubtful-calls.ts'
import { createFieldList } from './field-list.ts'
import type { FieldList } from './field-list.ts'
import { FAILED, placeOf } from './row-reader.ts'
import type { RowReader } from './row-reader.ts'
import { createUsageSums, LAST_USED } from './usage-sums.ts'
import type { UsageSums } from './usage-sums.ts'

const SPAN_ID = placeOf('span_id')
const PARENT = placeOf('parent_span_id')
const START = placeOf('start_time')
const DURATION = placeOf('duration_ns')
const STATUS = placeOf('status')
const IS_CALL = placeOf('llm_call')
const KIND = placeOf('operation_kind')
const OWNERS = OWNER_COLUMNS.map(placeOf)

const NAMES = TERM_SOURCES.map(({ column, isOfCalls = false, unlike }) => ({
  place: placeOf(column),
  isOfCalls,
  unlike: unlike === undefined ? -1 : placeOf(unlike),
}))
const NAME_PLACES = NAMES.map(({ place }) => place)

/** The last column that is read. */
export const LAST_SUMMED = Math.max(KIND, ...OWNERS, ...NAME_PLACES, LAST_USED, LAST_DOUBTED)

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
  /** Of each of `OWNER_COLUMNS` the first. */
  readonly owners: readonly FieldList[]
  /** For each of `TERM_SOURCES`. */
  readonly names: readonly FieldList[]
  readonly usage: UsageSums
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
 * for calls that may stand for others, too many names, and what doubles do not hold exactly.
 */
export function createTraceSums(
  reader: RowReader,
  prices: CallPrices,
): (rows: readonly number[]) => TraceSums | undefined {
  const usage = createUsageSums(reader, prices)
  const doubtful = createDoubtfulCalls(reader)
  const owners = OWNERS.map(() => createFieldList(reader, 1))
  const names = NAMES.map(() => createFieldList(reader, MAX_NAMES_OF_A_KIND + 1))
  const sums = { ...NOTHING, owners, names, usage }
  const parts = [usage, doubtful, ...owners, ...names]
  const areExact = (): boolean =>
    names.every((list) => list.count() <= MAX_NAMES_OF_A_KIND) &&
    (usage.parts.count === 0 || (usage.areExact() && !doubtful.areAny()))
  return (rows) => {
    Object.assign(sums, NOTHING)
    for (const part of parts) part.clear()
    for (const at of rows) {
      reader.open(at)
      const isCall = reader.isTrue(IS_CALL)
      if (!addTimes(sums, reader, at) || (isCall && !usage.add())) return undefined
      doubtful.add(isCall)
      sums.spans += 1
      if (reader.int2(STATUS) === FAILED) sums.errorSpans += 1
      sums.hasTexts ||= mayHaveTexts(reader)
      addOwners(owners, reader)
      addNames(names, reader)
    }
    return areExact() ? sums : undefined
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
    const { place = 0, isOfCalls = false, unlike = -1 } = NAMES[nr] ?? {}
    const size = reader.size(place)
    if (size < 0 || (isOfCalls && !reader.isTrue(IS_CALL))) continue
    const begin = reader.begin(place)
    const isSame = size === reader.size(unlike) && reader.isSame(begin, reader.begin(unlike), size)
    if (!isSame) names[nr]?.add(begin, size)
  }
}

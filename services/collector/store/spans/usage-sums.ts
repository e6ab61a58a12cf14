import { costOf } from '../roll-ups/call-price.ts'
import type { Amounts, CallPrices } from '../roll-ups/call-price.ts'
import {
  COST_COLUMNS,
  DURATION_BOUNDS_MS,
  MAX_COST,
  MAX_DURATION_NS,
  MAX_TOKENS,
  measureOf,
  MEASURES,
  TOKEN_COLUMNS,
} from '../roll-ups/measures.ts'
import { createUsageParts, HOUR_US, MAX_PARTS } from '../roll-ups/packed-usage.ts'
import type { UsageParts } from '../roll-ups/packed-usage.ts'
import { FAILED, placeOf } from './row-reader.ts'
import type { RowReader } from './row-reader.ts'

const START = placeOf('start_time')
const DURATION = placeOf('duration_ns')
const STATUS = placeOf('status')
const ORGANIZATION = placeOf('organization')
const REQUEST_MODEL = placeOf('request_model')
const RESPONSE_MODEL = placeOf('response_model')
const COST = placeOf('cost_usd')
const TOKENS = TOKEN_COLUMNS.map(placeOf)
const INPUT = TOKEN_COLUMNS.indexOf('input_tokens')
const OUTPUT = TOKEN_COLUMNS.indexOf('output_tokens')

/** The last column that is read. */
export const LAST_USED = Math.max(COST, REQUEST_MODEL, RESPONSE_MODEL, ...TOKENS)

const PICODOLLARS = 1e12

const SIZE = MEASURES.length
const CALLS = measureOf('calls')
const ERRORS = measureOf('errors')
const FIRST_TOKEN = measureOf(TOKEN_COLUMNS[0] ?? '')
const FIRST_COST = measureOf(COST_COLUMNS[0] ?? '')
const UNPRICED = measureOf('unpriced')
const DURATION_US = measureOf('duration_us')
const FIRST_RANGE = DURATION_US + 1
const [REPORTED, COMPUTED, EITHER] = [0, 1, 2]
const BOUNDS_NS = DURATION_BOUNDS_MS.map((ms) => ms * 1_000_000)

/** Sums up the calls of one trace after the other. */
export interface UsageSums {
  readonly parts: UsageParts
  clear(): void
  /** The call at which the reader is. Returns false where the leader has to look at it. */
  add(): boolean
  /** Returns false for sums that doubles do not hold exactly. */
  areExact(): boolean
}

/** Returns true for a call with tokens, as `HAS_USAGE`. */
export const hasTokens = (reader: RowReader): boolean =>
  isAboveZero(reader, TOKENS[INPUT] ?? 0) || isAboveZero(reader, TOKENS[OUTPUT] ?? 0)

const isAboveZero = (reader: RowReader, place: number): boolean =>
  reader.size(place) > 0 && reader.int8(place) > 0

/** Sums calls up as `usage` in `roll-up-statement.ts` does, with costs by these prices. */
export function createUsageSums(reader: RowReader, prices: CallPrices): UsageSums {
  const parts = createUsageParts()
  const { sums } = parts
  const amounts = createAmounts(reader, prices)
  const tokens = new Float64Array(TOKENS.length)
  const increase = (at: number, by = 1): void => void (sums[at] = (sums[at] ?? 0) + by)
  const addCost = (at: number, cost: number, dollars: number | undefined): void => {
    if (dollars === undefined) return
    parts.knownCosts |= 1 << cost
    increase(at + FIRST_COST + cost, dollars)
  }
  /** Returns false for one that is less than none. */
  const addDuration = (at: number, durationNs: number): boolean => {
    increase(at + DURATION_US, Math.trunc(Math.min(durationNs, MAX_DURATION_NS) / 1000))
    increase(at + FIRST_RANGE + rangeOf(durationNs))
    return durationNs >= 0
  }
  return {
    parts,
    clear() {
      parts.count = parts.knownCosts = 0
      amounts.clear()
    },
    add() {
      const part = findPart(reader, parts)
      if (part < 0) return false
      readTokens(reader, tokens)
      const price = amounts.of(part)
      const computed = price && costOf(tokens, price)
      const reported = reportedCost(reader)
      if (!isExact(computed) || !isExact(reported)) return false
      const at = part * SIZE
      increase(at + CALLS)
      if (reader.int2(STATUS) === FAILED) increase(at + ERRORS)
      for (let nr = 0; nr < tokens.length; nr++) increase(at + FIRST_TOKEN + nr, tokens[nr])
      addCost(at, REPORTED, reported)
      addCost(at, COMPUTED, computed)
      addCost(at, EITHER, reported ?? computed)
      if (reported === undefined && computed === undefined) increase(at + UNPRICED)
      return reader.size(DURATION) < 0 || addDuration(at, reader.int8(DURATION))
    },
    areExact() {
      for (let at = 0; at < parts.count * SIZE; at++) {
        if (!Number.isSafeInteger(sums[at])) return false
      }
      return true
    },
  }
}

/** Finds the part of a call, or begins it; less than 0 where there can be none. */
function findPart(reader: RowReader, parts: UsageParts): number {
  const { hours, begins, sizes } = parts
  const model = reader.size(REQUEST_MODEL) < 0 ? RESPONSE_MODEL : REQUEST_MODEL
  const begin = reader.begin(model)
  const size = Math.max(reader.size(model), 0)
  const hour = Math.floor(reader.int8(START) / HOUR_US)
  for (let part = 0; part < parts.count; part++) {
    const isLike = hours[part] === hour && sizes[part] === size
    if (isLike && reader.isSame(begins[part] ?? 0, begin, size)) return part
  }
  if (parts.count === MAX_PARTS || hour < 0) return -1
  hours[parts.count] = hour
  begins[parts.count] = begin
  sizes[parts.count] = size
  parts.sums.fill(0, parts.count * SIZE, (parts.count + 1) * SIZE)
  return parts.count++
}

/**
 * Finds prices, those of a part once while the same model answers: what was asked for and the hour
 * are the same, and prices change at midnight.
 */
function createAmounts(reader: RowReader, prices: CallPrices) {
  const found: { begin: number; size: number; amounts: Amounts }[] = []
  return {
    clear: () => void (found.length = 0),
    of(part: number): Amounts {
      const [begin, size] = [reader.begin(RESPONSE_MODEL), reader.size(RESPONSE_MODEL)]
      const last = found[part]
      if (last?.size === size && reader.isSame(last.begin, begin, size)) return last.amounts
      const amounts = prices.find({
        organization: textAt(reader, ORGANIZATION),
        responseModel: textAt(reader, RESPONSE_MODEL),
        requestModel: textAt(reader, REQUEST_MODEL),
        startUs: reader.int8(START),
      })
      found[part] = { begin, size, amounts }
      return amounts
    },
  }
}

/** Whole dollars times 1e12, or none. */
const isExact = (cost: number | undefined): boolean =>
  cost === undefined || Number.isSafeInteger(cost)

/** As they are counted. */
function readTokens(reader: RowReader, tokens: Float64Array): void {
  for (let nr = 0; nr < TOKENS.length; nr++) {
    const place = TOKENS[nr] ?? 0
    const given = reader.size(place) < 0 ? 0 : reader.int8(place)
    tokens[nr] = Math.min(Math.max(given, 0), MAX_TOKENS)
  }
}

/** In 1e-12 dollars; undefined where it is not known, `NaN` where the leader has to look at it. */
function reportedCost(reader: RowReader): number | undefined {
  if (reader.size(COST) < 0) return undefined
  const dollars = reader.float8(COST)
  if (!Number.isFinite(dollars)) return NaN
  if (dollars <= 0 && hasTokens(reader)) return undefined
  return roundHalfToEven(Math.min(Math.max(dollars, 0), MAX_COST) * PICODOLLARS)
}

/** As PostgreSQL makes whole numbers of doubles. */
function roundHalfToEven(value: number): number {
  const up = Math.round(value)
  return up - value === 0.5 && up % 2 !== 0 ? up - 1 : up
}

/** How many bounds a duration is above. */
function rangeOf(durationNs: number): number {
  let range = 0
  while (durationNs > (BOUNDS_NS[range] ?? Infinity)) range++
  return range
}

/** Of a byte a character: names beyond ASCII are not looked up. */
function textAt(reader: RowReader, place: number): string {
  const begin = reader.begin(place)
  return reader.bytes().toString('latin1', begin, begin + Math.max(reader.size(place), 0))
}

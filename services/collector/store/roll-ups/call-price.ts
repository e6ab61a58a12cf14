import { createHash } from 'node:crypto'
import { plainModel } from '../../../shared/prices/price-table.ts'
import type { Price } from '../../../shared/prices/price-table.ts'
import { POSTGRES_EPOCH_US } from '../../otlp/limits.ts'
import { amountsOf, KINDS, PARTS } from './call-cost.ts'
import { TOKEN_COLUMNS } from './measures.ts'
import { PRICES_KEY_BYTES } from './noted-rows.ts'

/** A call, with empty texts for what it has not. */
interface PricedCall {
  readonly organization: string
  readonly responseModel: string
  readonly requestModel: string
  /** Microseconds since 2000. */
  readonly startUs: number
}

/** A price in 1e-12 dollars for a token of each of `KINDS`; undefined where there is none. */
export type Amounts = readonly number[] | undefined

/** The table of prices, for calls that are summed up beside their commit. */
export interface CallPrices {
  readonly key: Buffer
  /**
   * Finds the price of a call as `priceJoins` does, but for those that organizations entered; an
   * empty one, by which nothing can be computed, where only the database finds it.
   */
  find(call: PricedCall): Amounts
}

/** A price, in microseconds since 2000. */
interface Period {
  readonly beginsUs: number
  readonly endsUs: number
  readonly amounts: readonly number[]
}

/** Another one for each change of the prices. */
export const keyOfPrices = (prices: readonly Price[]): Buffer =>
  createHash('sha256').update(JSON.stringify(prices)).digest().subarray(0, PRICES_KEY_BYTES)

/** Makes lookups of the prices; those of an organization come before the common ones. */
export function createCallPrices(prices: readonly Price[]): CallPrices {
  const own = prices.filter(({ organization }) => organization !== undefined)
  const common = prices.filter(({ organization }) => organization === undefined)
  const ofOrganization = tableOf(own)
  const ofAll = tableOf(common)
  const findOf = (organization: string, model: string, startUs: number): Amounts =>
    own.length > 0 ? at(ofOrganization.get(keyOf(model, organization)), startUs) : undefined
  return {
    key: keyOfPrices(prices),
    find({ organization, responseModel, requestModel, startUs }) {
      // What is lower case beyond ASCII depends on the database.
      const names = [responseModel, requestModel, own.length > 0 ? organization : '']
      if (names.some((name) => BEYOND_ASCII.test(name))) return []
      return (
        findOf(organization, responseModel, startUs) ??
        findOf(organization, requestModel, startUs) ??
        at(ofAll.get(plainModel(responseModel)), startUs) ??
        at(ofAll.get(plainModel(requestModel)), startUs)
      )
    },
  }
}

const BEYOND_ASCII = /[\u0080-\uffff]/

const keyOf = (model: string, organization: string): string =>
  `${plainModel(model)} ${organization}`

function tableOf(prices: readonly Price[]): ReadonlyMap<string, readonly Period[]> {
  const table = new Map<string, Period[]>()
  for (const { models, organization, from, until, perMillion } of prices) {
    const period = {
      beginsUs: from === undefined ? -Infinity : startOf(from),
      endsUs: until === undefined ? Infinity : startOf(until),
      amounts: amountsOf(perMillion),
    }
    for (const model of models) {
      // As the join has it: a name in the table is not made plain.
      const key = organization === undefined ? model : `${model} ${organization}`
      table.set(key, [...(table.get(key) ?? []), period])
    }
  }
  return table
}

const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`) * 1000 - POSTGRES_EPOCH_US

const at = (periods: readonly Period[] | undefined, startUs: number): Amounts =>
  periods?.find(({ beginsUs, endsUs }) => startUs >= beginsUs && startUs < endsUs)?.amounts

const place = (column: string): number => TOKEN_COLUMNS.indexOf(column)

const WHOLES = Object.entries(PARTS).map(([column, parts]) => ({
  whole: place(column),
  plain: KINDS.findIndex((kind) => `${kind}_tokens` === column),
  parts: Object.entries(parts).map(([part, kind]) => ({
    part: place(part),
    kind: KINDS.indexOf(kind),
  })),
}))

/**
 * Returns what the tokens of a call, for each of `TOKEN_COLUMNS`, cost in 1e-12 dollars, added in
 * the order of the statement, on which sums of doubles depend.
 */
export function costOf(tokens: Float64Array, amounts: readonly number[]): number {
  let cost = 0
  for (const { whole, plain, parts } of WHOLES) {
    const all = tokens[whole] ?? 0
    let beside = 0
    for (const { part } of parts) beside += tokens[part] ?? 0
    cost += (beside > all ? all : all - beside) * (amounts[plain] ?? NaN)
    for (const { part, kind } of parts) cost += (tokens[part] ?? 0) * (amounts[kind] ?? NaN)
  }
  return cost
}

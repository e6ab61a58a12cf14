import { plainModel } from './price-table.ts'
import type { Price, TokenPrices } from './price-table.ts'

/** A call of a model, for which a price is looked for. */
interface PricedCall {
  /** As it was asked for; what comes before its last slash does not count. */
  readonly model: string
  /** By which it is billed. @default the usual one */
  readonly tier?: string | undefined
  /** The id of the organization, as traces name it. */
  readonly organization: string
  readonly at: Date
}

/**
 * Returns what the tokens of a call cost, by the rules of the collector: an organization's own
 * price comes before the common one. A service tier has a price of its own where one is for
 * `model@tier`; a common one does not apply where the organization has its own for the model.
 * Undefined where there is no price at that time.
 */
export function findPrice(
  prices: readonly Price[],
  { tier, ...call }: PricedCall,
): TokenPrices | undefined {
  const usual = findOne(prices, call)
  const ofTier = tier ? findOne(prices, { ...call, model: `${call.model}@${tier}` }) : undefined
  const isOwn = ofTier?.organization !== undefined || usual?.organization === undefined
  return (ofTier && isOwn ? ofTier : usual)?.perMillion
}

function findOne(
  prices: readonly Price[],
  { model, organization, at }: PricedCall,
): Price | undefined {
  const plain = plainModel(model)
  const day = at.toISOString().slice(0, 10)
  const found = prices.filter(
    ({ models, from = '', until = '9999-12-31' }) =>
      models.includes(plain) && from <= day && day < until,
  )
  const own = found.find((price) => price.organization === organization)
  return own ?? found.find((price) => price.organization === undefined)
}

/** The tokens that the calls of a model took. */
export interface ModelUse {
  readonly model: string
  readonly input_tokens: number
  readonly cached_input_tokens: number
  readonly output_tokens: number
  /** @default the usual one */
  readonly service_tier?: string
}

/** Returns dollars by the prices of that time; undefined where a model has no price. */
export function costOfModels(
  models: readonly ModelUse[],
  prices: readonly Price[],
  when: Omit<PricedCall, 'model' | 'tier'>,
): number | undefined {
  let microdollars = 0
  for (const { model, service_tier: tier, ...tokens } of models) {
    const price = findPrice(prices, { model, tier, ...when })
    if (!price) return undefined
    const { input, output = 0, cached = input } = price
    const cachedTokens = Math.min(tokens.cached_input_tokens, tokens.input_tokens)
    microdollars += (tokens.input_tokens - cachedTokens) * input + cachedTokens * cached
    microdollars += tokens.output_tokens * output
  }
  return microdollars / 1e6
}

/** Micro-dollars for a million tokens are picodollars for a token. */
const PICODOLLARS_DIGITS = 12

/**
 * Returns dollars for one token as a decimal, exact for prices of six decimals or fewer for a
 * million.
 */
export function perToken(perMillion: number): string {
  const picodollars = Math.round(Number((perMillion * 1e6).toPrecision(15)))
  const digits = String(picodollars).padStart(PICODOLLARS_DIGITS + 1, '0')
  return `${digits.slice(0, -PICODOLLARS_DIGITS)}.${digits.slice(-PICODOLLARS_DIGITS)}`
}

/** Returns what the service tiers of a model cost that have prices, by their names. */
export function pricesOfTiers(
  prices: readonly Price[],
  { model, ...when }: Omit<PricedCall, 'tier'>,
): Record<string, TokenPrices> {
  const begin = `${plainModel(model)}@`
  const named = prices.flatMap(({ models }) => models.filter((name) => name.startsWith(begin)))
  const tiers = [...new Set(named)].flatMap((name) => {
    const tier = name.slice(begin.length)
    const price = findPrice(prices, { model, tier, ...when })
    return price ? [[tier, price] as const] : []
  })
  return Object.fromEntries(tiers)
}

/** The tokens of a call, as far as they are known. */
interface UsedTokens {
  readonly input_tokens?: number | undefined
  readonly output_tokens?: number | undefined
  /** Those of the input that the provider had in its cache. */
  readonly cached_input_tokens?: number | undefined
}

/** Returns what a call costs, in US dollars. */
export function costOf(
  call: UsedTokens,
  { input, cached = input, output = 0 }: TokenPrices,
): number {
  const { input_tokens: given = 0, output_tokens: said = 0, cached_input_tokens: kept = 0 } = call
  const known = Math.min(kept, given)
  const dollars = (perMillion: number): number => Number(perToken(perMillion))
  return (given - known) * dollars(input) + known * dollars(cached) + said * dollars(output)
}

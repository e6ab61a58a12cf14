import * as v from 'valibot'
import { AppError } from '../errors.ts'

/** The highest price in US dollars for a million tokens. */
export const MAX_PER_MILLION = 100_000
const amount = v.pipe(
  v.number(),
  v.finite(),
  v.minValue(0, 'must not be negative'),
  v.maxValue(MAX_PER_MILLION, `must be ${MAX_PER_MILLION} dollars or less for a million tokens`),
)
/** Returns true for a day from 1970 on, `2026-11-22`; February 31 would be read as one in March. */
export const isDay = (text: string): boolean => {
  const ms = Date.parse(`${text}T00:00:00Z`)
  return ms >= 0 && new Date(ms).toISOString().slice(0, 10) === text
}
const day = v.pipe(v.string(), v.check(isDay, 'must be a day, such as 2026-11-22'))
/** Returns a model's name as prices are looked up by: `openai/GPT-4o` is `gpt-4o`. */
export const plainModel = (name: string): string =>
  name.slice(name.lastIndexOf('/') + 1).toLowerCase()

const text = v.pipe(v.string(), v.minLength(1), v.maxLength(256))

const tokenPrices = v.strictObject({
  input: amount,
  output: v.optional(amount),
  cached: v.optional(amount),
  cache_write: v.optional(amount),
  reasoning: v.optional(amount),
  audio_input: v.optional(amount),
  audio_output: v.optional(amount),
})

const price = v.pipe(
  v.strictObject({
    models: v.pipe(v.array(v.pipe(text, v.toLowerCase())), v.minLength(1)),
    organization: v.optional(v.pipe(text, v.maxLength(64))),
    from: v.optional(day),
    until: v.optional(day),
    per_million: tokenPrices,
    source: v.optional(text),
    /** The vendor's page that the source copies; without it, the source is the vendor's. */
    copies: v.optional(text),
    read_on: v.optional(day),
  }),
  v.transform(({ per_million: perMillion, read_on: readOn, ...rest }) => ({
    ...rest,
    perMillion,
    readOn,
  })),
)

const priceFile = v.strictObject({ prices: v.pipe(v.array(price), v.maxLength(10_000)) })

/** What models cost in a span of time. */
export type Price = v.InferOutput<typeof price>
/**
 * US dollars for a million tokens, by kind. A kind without a price costs what the kind does that it
 * is part of: input or output.
 */
export type TokenPrices = Price['perMillion']

/**
 * Reads a list of prices, which may have holes where other prices apply. Raises
 * `invalid_configuration` that says what is wrong in `name`.
 */
export function readPrices(
  given: unknown,
  name: string,
  { mayHaveHoles = false }: { readonly mayHaveHoles?: boolean } = {},
): Price[] {
  const result = v.safeParse(priceFile, given)
  if (!result.success) {
    const problems = result.issues
      .slice(0, 10)
      .map((issue) => `${v.getDotPath(issue) ?? 'the file'}: ${issue.message}`)
    throw invalid(name, problems)
  }
  const problems = problemsOf(result.output.prices, mayHaveHoles)
  if (problems.length > 0) throw invalid(name, problems)
  return result.output.prices
}

const invalid = (name: string, problems: readonly string[]): AppError =>
  new AppError(
    'invalid_configuration',
    `The prices in ${name} are not valid:\n${problems.map((one) => `  - ${one}`).join('\n')}`,
  )

interface Period {
  readonly from: string
  readonly until: string
}

const ALWAYS: Period = { from: '', until: '9999-12-31' }

/** Overlaps and holes in the periods of each model. */
function problemsOf(prices: readonly Price[], mayHaveHoles: boolean): string[] {
  const periods = new Map<string, Period[]>()
  for (const { models, organization, from, until } of prices) {
    for (const model of models) {
      const key = organization === undefined ? model : `${model} of ${organization}`
      const list = periods.get(key) ?? []
      periods.set(key, list)
      list.push({ from: from ?? ALWAYS.from, until: until ?? ALWAYS.until })
    }
  }
  return [...periods].flatMap(([key, list]) => problemsBetween(key, list, mayHaveHoles))
}

function problemsBetween(key: string, list: readonly Period[], mayHaveHoles: boolean): string[] {
  const problems: string[] = []
  const sorted = list.toSorted((a, b) => (a.from < b.from ? -1 : 1))
  for (const [index, { from, until }] of sorted.entries()) {
    const before = sorted[index - 1]
    if (from >= until) problems.push(`${key}: a price ends (${until}) before it begins (${from})`)
    if (!before || before.until === from) continue
    const isHole = before.until < from
    if (isHole && mayHaveHoles) continue
    problems.push(
      isHole
        ? `${key}: no price from ${before.until} to ${from}`
        : `${key}: two prices from ${from || 'the beginning'} on`,
    )
  }
  return problems
}

/**
 * Puts one list of prices over another: a model that it names, for all or for an organization, has
 * its prices from there alone.
 */
export function overridePrices(shipped: readonly Price[], own: readonly Price[]): Price[] {
  const named = new Set(
    own.filter(({ organization }) => organization === undefined).flatMap(({ models }) => models),
  )
  const kept = shipped.flatMap((one) => {
    const models = one.models.filter((model) => !named.has(model))
    return models.length > 0 ? [{ ...one, models }] : []
  })
  return [...kept, ...own]
}

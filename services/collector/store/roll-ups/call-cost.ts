import type { Price, TokenPrices } from '../../../shared/prices/price-table.ts'
import { arrayText } from '../../../shared/postgres/arrays.ts'
import { quote } from '../../../shared/postgres/copy/copy-connection.ts'

/** Of prices, in the order of their columns. */
export const KINDS = [
  ['input', 'cached', 'cache_write', 'audio_input'] as const,
  ['output', 'reasoning', 'audio_output'] as const,
].flat()

/** The joins by which a call, `call`, finds its price, and its cost by that price, in SQL. */
interface PriceJoins {
  readonly joins: string
  /** In 1e-12 US dollars; null where there is no price. */
  readonly computedCost: string
}

/**
 * The price of a call is looked for by the model that answered, then by the one that was asked for.
 * What an organization entered, in a table of that name, comes before its own price of the table of
 * prices, and that before the common one.
 */
export function priceJoins(prices: readonly Price[], entered = 'organization_prices'): PriceJoins {
  const own = prices.filter(({ organization }) => organization !== undefined)
  const common = prices.filter(({ organization }) => organization === undefined)
  const lists = [
    { name: 'own', list: own },
    { name: 'common', list: common },
  ].filter(({ list }) => list.length > 0)
  const tables = [
    { name: 'entered', table: entered },
    ...lists.map(({ name, list }) => ({ name, table: pricesOf(list) })),
  ]
  const sources = tables.flatMap(({ name, table }) => [
    { name, table, model: 'response_model' },
    { name: `${name}_asked`, table, model: 'request_model' },
  ])
  const first = (column: string): string =>
    `coalesce(${sources.map(({ name }) => `${name}.${column}`).join(', ')})`
  return {
    joins: sources.map(joinOf).join(''),
    computedCost: `case when ${first('model')} is not null then ${costBy(first)} end`,
  }
}

interface Source {
  readonly name: string
  readonly table: string
  readonly model: string
}

/** A name without what comes before its last slash: `openai/gpt-4o` is `gpt-4o`. */
const plainModel = (model: string): string => `case when strpos(${model}, '/') = 0
        then lower(${model}) else lower(reverse(split_part(reverse(${model}), '/', 1))) end`

const joinOf = ({ name, table, model }: Source): string => `
    left join ${table} as ${name} (${COLUMNS.map(([column]) => column).join(', ')})
      on ${name}.model = ${plainModel(`call.${model}`)}
      and call.start_time >= ${name}.begins and call.start_time < ${name}.ends
      and ${name.startsWith('common') ? 'true' : `${name}.organization = call.organization`}`

const COLUMNS = [
  ['model', 'text'],
  ['organization', 'text'],
  ['begins', 'timestamptz'],
  ['ends', 'timestamptz'],
  ...KINDS.map((kind) => [kind, 'float8'] as const),
] as const

type PriceRow = readonly (string | number)[]

/**
 * Returns prices as a source in SQL, with the columns of `organization_prices`: an array for each
 * column, since PostgreSQL takes longer to read a list of values than to answer.
 */
export function pricesOf(prices: readonly Price[]): string {
  const rows = prices.flatMap(rowsOf)
  const arrays = COLUMNS.map(
    ([, type], at) => `${quote(arrayText(rows.map((row) => row[at] ?? null)))}::${type}[]`,
  )
  return `unnest(${arrays.join(', ')})`
}

function rowsOf({ models, organization = '', from, until, perMillion }: Price): PriceRow[] {
  const time = [from, until].map((day) => day && `${day} 00:00Z`)
  const [begins = '-infinity', ends = 'infinity'] = time
  const amounts = amountsOf(perMillion)
  return models.map((model) => [model, organization, begins, ends, ...amounts])
}

/** For each of `KINDS` in 1e-12 dollars a token. */
export const amountsOf = (perMillion: TokenPrices): number[] =>
  KINDS.map((kind) => perToken(perMillion[kind] ?? perMillion[FALLBACK[kind]] ?? 0))

/**
 * In 1e-12 dollars: of all prices that are written with six decimals or fewer that is a whole
 * number, and so is the cost, which is exact up to 9000 dollars a call.
 */
const perToken = (perMillion: number): number => Number((perMillion * 1e6).toPrecision(15))

/** The kind whose price counts where a price list has none of its own. */
const FALLBACK: Readonly<Record<(typeof KINDS)[number], keyof TokenPrices>> = {
  input: 'input',
  cached: 'input',
  cache_write: 'input',
  audio_input: 'input',
  output: 'output',
  reasoning: 'output',
  audio_output: 'output',
}

/** The columns of tokens that are part of another, and the price of each. */
export const PARTS = {
  input_tokens: {
    cache_read_tokens: 'cached',
    cache_write_tokens: 'cache_write',
    audio_input_tokens: 'audio_input',
  },
  output_tokens: { reasoning_tokens: 'reasoning', audio_output_tokens: 'audio_output' },
} as const

/**
 * Input includes what was read from and written to the cache and audio, output includes reasoning
 * and audio; where the parts are larger than the whole, the sender counts them beside it.
 */
function costBy(priceOf: (kind: string) => string): string {
  const terms = Object.entries(PARTS).flatMap(([column, parts]) => {
    const whole = `call.${column}`
    const sum = Object.keys(parts)
      .map((part) => `call.${part}`)
      .join(' + ')
    const plain = column === 'input_tokens' ? 'input' : 'output'
    const rest = `(case when ${sum} > ${whole} then ${whole} else ${whole} - (${sum}) end)`
    const others = Object.entries(parts).map(([part, kind]) => `call.${part} * ${priceOf(kind)}`)
    return [`${rest} * ${priceOf(plain)}`, ...others]
  })
  return `least(${terms.join(' + ')}, 1e18)::int8`
}

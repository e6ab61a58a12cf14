/** Of one kind and call: four of them fit in four bytes. More than that counts as that. */
export const MAX_TOKENS = 500_000_000
/** A call that lasts longer counts as a day. */
export const MAX_DURATION_NS = 86_400_000_000_000

/** Dollars: a call that costs more counts as that. */
export const MAX_COST = 1e6

/** Upper bounds of the ranges of durations that `usage_hourly` counts, in milliseconds. */
export const DURATION_BOUNDS_MS: readonly number[] = Array.from(
  { length: 11 },
  (_, i) => 125 * 2 ** i,
)

/** A column of `usage_hourly` that is a sum, and what one call adds to it. */
interface Measure {
  readonly column: string
  /** Over the columns of `calls`, in SQL; null adds nothing. */
  readonly sum: string
}

/** The tokens of a call, which are columns of `spans`, `traces` and `usage_hourly` alike. */
export const TOKEN_COLUMNS: readonly string[] = [
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'audio_input_tokens',
  'audio_output_tokens',
]

/** What a call costs: by its sender, by the table of prices, and the first of the two. */
export const COST_COLUMNS: readonly string[] = [
  'reported_cost_usd',
  'computed_cost_usd',
  'cost_usd',
]

/** How many bounds a duration in nanoseconds is above, in SQL. */
export const durationRange = (nanoseconds: string): string =>
  `width_bucket(${nanoseconds} - 1, '{${DURATION_BOUNDS_MS.map((ms) => `${ms}000000`).join(',')}}')`

const durationMeasure = (column: string, range: number): Measure => ({
  column,
  sum: `count(*) filter (where duration_range = ${range})`,
})

const RANGES = [
  ...DURATION_BOUNDS_MS.map((bound) => `up_to_${bound}_ms`),
  `above_${DURATION_BOUNDS_MS.at(-1)}_ms`,
]

/** All sums of `usage_hourly`, in the order of the attributes of `usage_part`. */
export const MEASURES: readonly Measure[] = [
  { column: 'calls', sum: 'count(*)' },
  { column: 'errors', sum: 'count(*) filter (where status = 2)' },
  ...TOKEN_COLUMNS.map((column) => ({ column, sum: `sum(${column})` })),
  // Of 1e-12 dollars.
  ...COST_COLUMNS.map((column) => ({ column, sum: `sum(${column}) * 0.000000000001` })),
  { column: 'unpriced', sum: 'count(*) - count(cost_usd)' },
  { column: 'duration_us', sum: 'sum(duration_us)' },
  ...RANGES.map(durationMeasure),
]

/** The place of a column among them. */
export const measureOf = (column: string): number =>
  MEASURES.findIndex((one) => one.column === column)

/** The key of `usage_hourly`, in which an empty text stands for none. */
export const USAGE_KEYS: readonly string[] = ['hour', 'organization', 'crew_id', 'model']

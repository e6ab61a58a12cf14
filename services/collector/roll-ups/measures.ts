/** Upper bounds of the ranges of durations that `usage_hourly` counts, in milliseconds. */
export const DURATION_BOUNDS_MS: readonly number[] = Array.from(
  { length: 11 },
  (_, i) => 125 * 2 ** i,
)

/** A column of `usage_hourly` that is a sum, and what one call adds to it. */
export interface Measure {
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

const durationMeasure = (bound: number, index: number): Measure => {
  const above = DURATION_BOUNDS_MS[index - 1]
  const isAbove = above === undefined ? '' : ` and duration_ns > ${above}000000`
  return {
    column: `up_to_${bound}_ms`,
    sum: `count(*) filter (where duration_ns <= ${bound}000000${isAbove})`,
  }
}

const LAST_BOUND = DURATION_BOUNDS_MS.at(-1) ?? 0

const sumOf = (column: string): Measure => ({ column, sum: `coalesce(sum(${column}), 0)` })

/** All sums of `usage_hourly`. */
export const MEASURES: readonly Measure[] = [
  { column: 'calls', sum: 'count(*)' },
  { column: 'errors', sum: 'count(*) filter (where status = 2)' },
  ...TOKEN_COLUMNS.map(sumOf),
  ...COST_COLUMNS.map(sumOf),
  { column: 'unpriced', sum: 'count(*) filter (where cost_usd is null)' },
  { column: 'duration_ns', sum: 'coalesce(sum(duration_ns), 0)' },
  ...DURATION_BOUNDS_MS.map(durationMeasure),
  {
    column: `above_${LAST_BOUND}_ms`,
    sum: `count(*) filter (where duration_ns > ${LAST_BOUND}000000)`,
  },
]

/** The key of `usage_hourly`, in which an empty text stands for none. */
export const USAGE_KEYS: readonly string[] = ['hour', 'organization', 'crew_id', 'model']

import type { Price } from '../../shared/prices/price-table.ts'
import { priceJoins } from '../store/roll-ups/call-cost.ts'
import { COUNTED_TOKENS } from '../store/roll-ups/roll-up-statement.ts'
import { REPORTED_COST } from '../store/roll-ups/uncounted-calls.ts'

/**
 * The live spans with what calls cost by the table of prices, `computed_cost_usd`, as a source in
 * SQL; it is null for spans that are no calls, without tokens, or of a model without a price. And
 * with what their senders know of it, `reported_cost_usd`.
 */
export function pricedSpans(prices: readonly Price[]): string {
  const { joins, computedCost } = priceJoins(prices)
  // Prices are in 1e-12 dollars.
  return `(
    select span.*, call.reported_cost_usd, case when call.has_tokens
      then (${computedCost} * 0.000000000001)::float8 end as computed_cost_usd
    from live_spans as span
    cross join lateral (
      select organization, start_time,
        llm_call and num_nonnulls(input_tokens, output_tokens) > 0 as has_tokens,
        case when llm_call then request_model end as request_model,
        case when llm_call then response_model end as response_model,
        ${REPORTED_COST} as reported_cost_usd, ${COUNTED_TOKENS}
    ) as call ${joins}
  ) as priced_spans`
}

const MODEL = 'call_model(llm_call, request_model, response_model)'
const VALUES = [
  'span_id',
  'parent_span_id',
  'start_time',
  'duration_ns',
  'call_role(llm_call, status, operation_kind)',
  `call_usage(llm_call, ${MODEL}, input_tokens, output_tokens)`,
  MODEL,
  "case when llm_call then scope_id || ' ' || name end",
  'response_id',
]

/**
 * The ids of the calls that add nothing to the totals, over all spans of a trace, in SQL: the only
 * place with the rules is the function of this name in the database, which the roll-ups, the
 * summary, the skeleton and the view `llm_calls` share.
 */
export const UNCOUNTED_CALLS = `uncounted_calls(
  ${VALUES.map((one) => `array_agg(${one})`).join(', ')}
)`

/** The columns of `spans` that it reads, beside the tokens. */
export const CALL_COLUMNS: readonly string[] = [
  ['span_id', 'parent_span_id', 'start_time', 'duration_ns', 'status', 'llm_call'],
  ['operation_kind', 'name', 'scope_id', 'request_model', 'response_model', 'response_id'],
].flat()

/** True for a call with tokens, in SQL. */
export const HAS_USAGE = '(input_tokens > 0 or output_tokens > 0) is true'

/** False where a sender says 0 for tokens: some do so where they find no price. In SQL. */
export const IS_COST_KNOWN = `(cost_usd > 0 or not ${HAS_USAGE})`

/** What a call costs by its sender, in SQL; null where that is not known. */
export const REPORTED_COST = `case when ${IS_COST_KNOWN} then cost_usd end`

import type { Queryable } from '../../../shared/postgres/database.ts'
import type { ListedTrace, TextMatch } from '../../../shared/trace-answers/lists.ts'
import { COST_COLUMNS } from '../../store/roll-ups/measures.ts'
import { toHexId } from '../span-json.ts'
import type { TraceExcerpt } from './excerpts.ts'

/** Columns of tokens, as they are read. */
export interface TokenCounts {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  readonly audioInputTokens: number
  readonly audioOutputTokens: number
}

/** Columns of what a trace, or several, add up to. */
export interface Sums extends TokenCounts {
  readonly spans: number
  readonly errorSpans: number
  readonly llmCalls: number
  readonly costUsd: number | null
  readonly reportedCostUsd: number | null
  readonly computedCostUsd: number | null
}

/** A row of `traces`, as a list reads it. */
export interface TraceRow extends Sums {
  readonly traceId: string
  readonly rootSpanId: string | null
  readonly name: string
  readonly status: ListedTrace['status']
  readonly startUs: string
  readonly startNs: number
  /** The first and the last start of its spans. */
  readonly firstMs: number
  readonly lastMs: number
  readonly endMs: number | null
  readonly durationNs: string | null
  readonly service: string | null
  /** Empty for none. */
  readonly organization: string
  readonly crewId: string | null
  readonly kickoffId: string | null
  readonly sessionId: string | null
  readonly userId: string | null
  readonly agents: string[]
  readonly models: string[]
}

/** What is known of a trace beside its row. */
export interface TraceTexts {
  readonly match?: TextMatch | undefined
  readonly excerpt?: TraceExcerpt | undefined
}

/** The trace as the API shows it. */
export function toListedTrace(row: TraceRow, { match, excerpt }: TraceTexts = {}): ListedTrace {
  const start = BigInt(row.startUs) * 1000n + BigInt(row.startNs)
  return {
    trace_id: row.traceId.replaceAll('-', ''),
    root_span_id: row.rootSpanId === null ? null : toHexId(row.rootSpanId),
    name: row.name,
    status: row.status,
    started_at: new Date(Number(start / 1_000_000n)).toISOString(),
    start_time_unix_nano: `${start}`,
    ended_at: row.endMs === null ? null : new Date(row.endMs).toISOString(),
    duration_ms: row.durationNs === null ? null : Number(BigInt(row.durationNs) / 1000n) / 1000,
    service: row.service,
    organization: row.organization === '' ? null : row.organization,
    crew_id: row.crewId,
    kickoff_id: row.kickoffId,
    session_id: row.sessionId,
    user_id: row.userId,
    agents: row.agents,
    models: row.models,
    ...sumsOf(row),
    truncated: false,
    ...(match ? { match } : {}),
    ...excerpt,
  }
}

/** What spans add up to as the API shows it. */
export const sumsOf = (row: Sums) => ({
  spans: row.spans,
  error_spans: row.errorSpans,
  llm_calls: row.llmCalls,
  tokens: tokensOf(row),
  cost_usd: row.costUsd,
  reported_cost_usd: row.reportedCostUsd,
  computed_cost_usd: row.computedCostUsd,
})

/** Tokens by kind as the API shows them. */
export const tokensOf = (row: TokenCounts): ListedTrace['tokens'] => ({
  input: row.inputTokens,
  output: row.outputTokens,
  cache_read: row.cacheReadTokens,
  cache_write: row.cacheWriteTokens,
  reasoning: row.reasoningTokens,
  audio_input: row.audioInputTokens,
  audio_output: row.audioOutputTokens,
})

/** A sum as a double, which has a largest number; null stays null, as `least` would not have it. */
export const inRange = (sum: string): string =>
  `(case when ${sum} > 1e300 then 1e300 else ${sum} end)::float8`

/** The columns of a `TraceRow`, of `traces`. */
export const shownColumns = (sql: Queryable) => sql`
  traces.trace_id, (traces.start_time at time zone 'UTC')::text as start_time, start_ns,
  (extract(epoch from traces.start_time) * 1000000)::int8 as start_us, root_span_id,
  (extract(epoch from end_time) * 1000)::float8 as end_ms,
  (extract(epoch from first_start) * 1000)::float8 as first_ms,
  (extract(epoch from last_start) * 1000)::float8 as last_ms,
  name, status, duration_ns, service, traces.organization, crew_id, kickoff_id, session_id, user_id,
  agents, models, spans::float8 as spans, error_spans::float8 as error_spans,
  llm_calls::float8 as llm_calls, input_tokens::float8 as input_tokens,
  output_tokens::float8 as output_tokens, cache_read_tokens::float8 as cache_read_tokens,
  cache_write_tokens::float8 as cache_write_tokens, reasoning_tokens::float8 as reasoning_tokens,
  audio_input_tokens::float8 as audio_input_tokens,
  audio_output_tokens::float8 as audio_output_tokens,
  ${sql.unsafe(COST_COLUMNS.map((column) => `${inRange(column)} as ${column}`).join(', '))}`

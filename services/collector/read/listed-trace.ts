import { toHexId } from './span-json.ts'
import type { TraceStatus, TraceSummary } from './trace-summary.ts'

/** A row of `traces`, as a list reads it. */
export interface TraceRow {
  readonly traceId: string
  readonly rootSpanId: string | null
  readonly name: string
  readonly status: TraceStatus | 'running'
  readonly startUs: string
  readonly startNs: number
  readonly endMs: number | null
  readonly durationNs: string | null
  readonly service: string | null
  readonly organization: string | null
  readonly crewId: string | null
  readonly kickoffId: string | null
  readonly sessionId: string | null
  readonly userId: string | null
  readonly agents: string[]
  readonly models: string[]
  readonly spans: number
  readonly errorSpans: number
  readonly llmCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  readonly audioInputTokens: number
  readonly audioOutputTokens: number
  readonly costUsd: number | null
  readonly reportedCostUsd: number | null
  readonly computedCostUsd: number | null
}

/** A trace in a list: its summary, and what only the roll-up has. */
export interface ListedTrace extends Omit<TraceSummary, 'status' | 'tokens'> {
  /** `incomplete` without a root; `running` while the root has no end. */
  readonly status: TraceStatus | 'running'
  /** The latest end of any span. */
  readonly ended_at: string | null
  readonly service: string | null
  readonly organization: string | null
  readonly session_id: string | null
  readonly user_id: string | null
  readonly agents: readonly string[]
  readonly tokens: TraceSummary['tokens'] & {
    readonly audio_input: number
    readonly audio_output: number
  }
  readonly reported_cost_usd: number | null
  readonly computed_cost_usd: number | null
}

/** The trace as the API shows it. */
export function toListedTrace(row: TraceRow): ListedTrace {
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
    organization: row.organization,
    crew_id: row.crewId,
    kickoff_id: row.kickoffId,
    session_id: row.sessionId,
    user_id: row.userId,
    agents: row.agents,
    models: row.models,
    spans: row.spans,
    error_spans: row.errorSpans,
    llm_calls: row.llmCalls,
    tokens: tokensOf(row),
    cost_usd: row.costUsd,
    reported_cost_usd: row.reportedCostUsd,
    computed_cost_usd: row.computedCostUsd,
    truncated: false,
  }
}

const tokensOf = (row: TraceRow): ListedTrace['tokens'] => ({
  input: row.inputTokens,
  output: row.outputTokens,
  cache_read: row.cacheReadTokens,
  cache_write: row.cacheWriteTokens,
  reasoning: row.reasoningTokens,
  audio_input: row.audioInputTokens,
  audio_output: row.audioOutputTokens,
})

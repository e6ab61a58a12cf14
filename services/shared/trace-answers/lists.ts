import * as v from 'valibot'

// What the collector's read API answers. Its routes have their types from here, and web its
// parsers. A member that one release adds is optional here until the release after it: while an
// installation is upgraded, web reads answers of the collector before.

const text = v.nullable(v.string())
const number = v.nullable(v.number())
const texts = v.pipe(v.array(v.string()), v.readonly())

/** `incomplete` while the span that the trace begins with is missing, `running` until it ends. */
export const TRACE_STATUSES = ['ok', 'error', 'running', 'incomplete'] as const
const status = v.picklist(TRACE_STATUSES)

const summedTokens = v.object({
  input: v.number(),
  output: v.number(),
  cache_read: v.number(),
  cache_write: v.number(),
  reasoning: v.number(),
})
const tokens = v.object({
  ...summedTokens.entries,
  audio_input: v.number(),
  audio_output: v.number(),
})

/** Milliseconds, to 5 %; null without any. */
const quantiles = v.object({ p50: number, p95: number })

/** Dollars. Null where none is known: by the sender, else by the table of prices. */
const costs = { cost_usd: number, reported_cost_usd: number, computed_cost_usd: number }

const textMatch = v.object({
  span_id: v.string(),
  /** What is around it. */
  excerpt: v.string(),
})

/** What is said of one trace by itself; tokens and cost are of the same calls. */
export const traceSummary = v.object({
  trace_id: v.string(),
  root_span_id: text,
  name: v.string(),
  status,
  started_at: v.string(),
  start_time_unix_nano: v.string(),
  /** Null while the root has no end. */
  duration_ms: number,
  spans: v.number(),
  error_spans: v.number(),
  crew_id: text,
  kickoff_id: text,
  models: texts,
  llm_calls: v.number(),
  tokens: summedTokens,
  cost_usd: number,
  /** True when it has more spans than are looked at: the counts are those of its first ones. */
  truncated: v.boolean(),
})

const listedTrace = v.object({
  ...traceSummary.entries,
  /** The latest end of any span. */
  ended_at: text,
  service: text,
  organization: text,
  session_id: text,
  user_id: text,
  agents: texts,
  tokens,
  ...costs,
  /** Where the text of the filter was found. */
  match: v.optional(textMatch),
  /** What it was asked and answered, where that was asked for. */
  input: v.optional(text),
  output: v.optional(text),
})

/** `next_cursor` is null at the end; a page with fewer rows than asked for is not the end. */
export const tracePage = v.object({
  traces: v.pipe(v.array(listedTrace), v.readonly()),
  next_cursor: text,
})

/** The widths of a histogram's buckets. */
export const HISTOGRAM_INTERVALS = ['1m', '5m', '15m', '1h', '6h', '1d', '7d'] as const

/** Traces by the time of their start, in its order; times without a trace are left out. */
export const histogram = v.object({
  interval: v.picklist(HISTOGRAM_INTERVALS),
  buckets: v.pipe(
    v.array(
      v.object({
        from: v.string(),
        traces: v.number(),
        ok: v.number(),
        error: v.number(),
        running: v.number(),
        incomplete: v.number(),
      }),
    ),
    v.readonly(),
  ),
})

/** What the traces of a filter add up to. */
export const totals = v.object({
  traces: v.number(),
  ok: v.number(),
  error: v.number(),
  running: v.number(),
  incomplete: v.number(),
  spans: v.number(),
  error_spans: v.number(),
  llm_calls: v.number(),
  tokens,
  ...costs,
  /** Of traces that have ended. */
  duration_ms: quantiles,
})

/** Days in their order, others by their traces, the most first; `truncated` when there are more. */
export const groupedTotals = v.object({
  groups: v.pipe(
    v.array(
      v.object({
        ...totals.entries,
        day: v.optional(v.string()),
        crew: v.optional(v.string()),
        user: v.optional(v.string()),
      }),
    ),
    v.readonly(),
  ),
  truncated: v.boolean(),
})

const session = v.object({
  session_id: v.string(),
  organization: text,
  /** The start of its first trace. */
  first_time: v.string(),
  /** The latest end of any span; the latest start while there is none. */
  last_time: v.string(),
  traces: v.number(),
  error_traces: v.number(),
  llm_calls: v.number(),
  tokens,
  cost_usd: number,
  /** Of the latest trace that names one. */
  user_id: text,
  last_status: status,
  last_trace_id: v.string(),
  /** True when it has more traces than are looked at: the numbers are those of the latest. */
  truncated: v.boolean(),
})

/** `next_cursor` as in a page of traces. */
export const sessionPage = v.object({
  sessions: v.pipe(v.array(session), v.readonly()),
  next_cursor: text,
})

const usageGroup = v.object({
  /** Those that were asked for; an empty text where a call has none. */
  hour: v.optional(v.string()),
  day: v.optional(v.string()),
  organization: v.optional(v.string()),
  crew: v.optional(v.string()),
  model: v.optional(v.string()),
  calls: v.number(),
  errors: v.number(),
  tokens,
  cost_usd: v.number(),
  reported_cost_usd: v.number(),
  computed_cost_usd: v.number(),
  /** Calls whose cost is not known. */
  unpriced: v.number(),
  duration_ms: quantiles,
})

/** Calls of models by the hour of their start, summed up. */
export const usage = v.object({ groups: v.pipe(v.array(usageGroup), v.readonly()) })

/** A trace by itself. */
export type TraceSummary = v.InferOutput<typeof traceSummary>
/** A trace in a list. */
export type ListedTrace = v.InferOutput<typeof listedTrace>
/** A page of traces. */
export type TracePage = v.InferOutput<typeof tracePage>
/** Where a text was found in a trace. */
export type TextMatch = v.InferOutput<typeof textMatch>
/** Traces by time and status. */
export type TraceHistogram = v.InferOutput<typeof histogram>
/** What the traces of a filter add up to. */
export type TraceTotals = v.InferOutput<typeof totals>
/** The same of each group of traces. */
export type GroupedTotals = v.InferOutput<typeof groupedTotals>
/** The middle and the slow end of durations. */
export type Quantiles = v.InferOutput<typeof quantiles>
/** A page of sessions. */
export type SessionPage = v.InferOutput<typeof sessionPage>
/** Calls of models, summed up in groups. */
export type TraceUsage = v.InferOutput<typeof usage>

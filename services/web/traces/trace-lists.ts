import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'

const tokens = v.object({
  input: v.number(),
  output: v.number(),
})

const cost = v.nullable(v.number())
const text = v.nullable(v.string())
const status = v.picklist(['ok', 'error', 'running', 'incomplete'])

const listedTrace = v.object({
  trace_id: v.string(),
  name: v.string(),
  status,
  started_at: v.string(),
  duration_ms: v.nullable(v.number()),
  service: text,
  session_id: text,
  user_id: text,
  agents: v.array(v.string()),
  models: v.array(v.string()),
  spans: v.number(),
  error_spans: v.number(),
  llm_calls: v.number(),
  tokens,
  cost_usd: cost,
  /** What it was asked and answered, where that was asked for. */
  input: v.optional(text, null),
  output: v.optional(text, null),
})

const tracePage = v.object({ traces: v.array(listedTrace), next_cursor: text })

const histogram = v.object({
  interval: v.string(),
  buckets: v.array(
    v.object({
      from: v.string(),
      ok: v.number(),
      error: v.number(),
      running: v.number(),
      incomplete: v.number(),
    }),
  ),
})

const quantiles = v.object({ p50: v.nullable(v.number()), p95: v.nullable(v.number()) })

const totals = v.object({
  traces: v.number(),
  error: v.number(),
  llm_calls: v.number(),
  tokens,
  cost_usd: cost,
  duration_ms: quantiles,
})

const groupedTotals = v.object({
  groups: v.array(
    v.object({
      ...totals.entries,
      day: v.optional(v.string()),
      crew: v.optional(v.string()),
      user: v.optional(v.string()),
    }),
  ),
  truncated: v.boolean(),
})

const sessionPage = v.object({
  sessions: v.array(
    v.object({
      session_id: v.string(),
      first_time: v.string(),
      last_time: v.string(),
      traces: v.number(),
      error_traces: v.number(),
      tokens,
      cost_usd: cost,
      user_id: text,
      last_status: status,
      last_trace_id: v.string(),
    }),
  ),
  next_cursor: text,
})

const usage = v.object({
  groups: v.array(
    v.object({
      day: v.optional(v.string()),
      crew: v.optional(v.string()),
      model: v.optional(v.string()),
      calls: v.number(),
      errors: v.number(),
      tokens,
      cost_usd: v.number(),
      unpriced: v.number(),
      duration_ms: quantiles,
    }),
  ),
})

/** A trace in a list. */
export type ListedTrace = v.InferOutput<typeof listedTrace>
/** A page of traces; `next_cursor` is null at the end. */
export type TracePage = v.InferOutput<typeof tracePage>
/** Traces by time and status. */
export type Histogram = v.InferOutput<typeof histogram>
/** What the traces of a filter add up to. */
export type Totals = v.InferOutput<typeof totals>
/** The same of each group of traces. */
export type GroupedTotals = v.InferOutput<typeof groupedTotals>
/** A page of sessions. */
export type SessionPage = v.InferOutput<typeof sessionPage>
/** Calls of models, summed up in groups. */
export type Usage = v.InferOutput<typeof usage>

const reading =
  <Schema extends v.GenericSchema>(schema: Schema, what: string) =>
  (document: unknown): v.InferOutput<Schema> => {
    const read = v.safeParse(schema, document)
    if (read.success) return read.output
    throw new AppError(
      'bad_gateway',
      `The trace collector answered with something that is no ${what}.`,
    )
  }

/** Each raises `bad_gateway` for a document that is not what the collector answers. */
export const readLists = {
  traces: reading(tracePage, 'list of traces'),
  histogram: reading(histogram, 'histogram'),
  totals: reading(totals, 'sum'),
  groupedTotals: reading(groupedTotals, 'sum of groups'),
  sessions: reading(sessionPage, 'list of sessions'),
  usage: reading(usage, 'sum of calls'),
}

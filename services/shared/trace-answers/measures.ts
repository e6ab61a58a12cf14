import * as v from 'valibot'
import { TRACE_TERMS, termsOf } from '../query-terms.ts'

// What is asked of the collector for alerts, and what it answers. Its route has its types from
// here, and so has the worker that asks.

const TEXT_MAX = 512
/** The questions of one call. */
const QUESTIONS_MAX = 1000
/** The worst traces that an answer names. */
const WORST = ['failed', 'duration', 'tokens', 'cost'] as const

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(TEXT_MAX), v.excludes('\0'))
const amount = v.pipe(
  v.union([v.string(), v.number()]),
  v.transform(String),
  v.regex(/^\d{1,15}(\.\d{1,12})?$/),
  v.transform(Number),
)

/** The traces that count; all of it must hold. Traces that have no end yet never count. */
const traceTerms = v.strictObject({
  status: v.optional(v.picklist(['ok', 'error'])),
  service: v.optional(name),
  model: v.optional(name),
  agent: v.optional(name),
  task: v.optional(name),
  tool: v.optional(name),
  error_type: v.optional(name),
  session: v.optional(name),
  user: v.optional(name),
  min_duration_ms: v.optional(amount),
  min_tokens: v.optional(amount),
  min_cost_usd: v.optional(amount),
})

/** What a filter says of traces that are measured. */
type TraceTerms = v.InferOutput<typeof traceTerms>

/** A question: the traces of an organization that ended in the minutes before a time. */
const traceQuestion = v.strictObject({
  organization: v.pipe(v.string(), v.minLength(1), v.maxLength(64)),
  window_minutes: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1440)),
  terms: traceTerms,
  /** By what the worst five are chosen; absent: none is named. */
  worst: v.optional(v.picklist(WORST)),
})

/** A question about the traces of an organization. */
export type TraceQuestion = v.InferOutput<typeof traceQuestion>

/** Questions, and the time before which the traces ended. */
export const traceQuestions = v.strictObject({
  at: v.pipe(
    v.string(),
    v.isoTimestamp(),
    v.transform((text) => new Date(text)),
  ),
  questions: v.pipe(v.array(traceQuestion), v.maxLength(QUESTIONS_MAX)),
})

/** What the traces of a question add up to; questions without a trace have no answer. */
const traceMeasure = v.object({
  /** Of the question, from 0. */
  question: v.number(),
  traces: v.number(),
  /** Percent. */
  failure_share: v.number(),
  /** Seconds: the median and the 95th percentile. */
  duration: v.tuple([v.number(), v.number()]),
  /** Of those that called a model, or whose cost is known; null: of none. */
  tokens_per_trace: v.nullable(v.number()),
  tokens_total: v.number(),
  cost_per_trace: v.nullable(v.number()),
  cost_total: v.nullable(v.number()),
  /** Ids, the worst first. */
  worst: v.pipe(v.array(v.string()), v.readonly()),
})

/** The answer to questions. */
export const traceMeasures = v.object({
  measures: v.pipe(v.array(traceMeasure), v.readonly()),
})

/** What the traces of a question add up to. */
export type TraceMeasure = v.InferOutput<typeof traceMeasure>

/** Reads a text of the language of query boxes, with the first thing in it that cannot be. */
export function readTraceQuery(typed: string): {
  readonly terms: TraceTerms
  readonly text: string
  readonly problem?: string
} {
  const { parameters, text } = termsOf(typed, TRACE_TERMS)
  const read = v.safeParse(traceTerms, Object.fromEntries(parameters))
  if (read.success) return { terms: read.output, text }
  const parameter = v.getDotPath(read.issues[0]) ?? ''
  const value = parameters.find(([given]) => given === parameter)?.[1].slice(0, 100) ?? ''
  const problem =
    parameter === 'attribute'
      ? 'attributes are not looked up'
      : `its ${parameter} cannot be ${JSON.stringify(value)}`
  return { terms: {}, text, problem }
}

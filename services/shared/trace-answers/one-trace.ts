import * as v from 'valibot'

// As in `lists.ts`, of one trace and of one span.

const searchMatch = v.object({
  span_id: v.string(),
  name: v.string(),
  start_time_unix_nano: v.string(),
  found: v.pipe(
    v.array(
      v.object({
        in: v.picklist(['name', 'status_message', 'attributes', 'payload', 'events']),
        excerpt: v.string(),
      }),
    ),
    v.readonly(),
  ),
})

/** The spans of a trace in which a text was found; `next_cursor` is null once all were searched. */
export const searchPage = v.object({
  trace_id: v.string(),
  spans_searched: v.number(),
  matches: v.pipe(v.array(searchMatch), v.readonly()),
  next_cursor: v.nullable(v.string()),
})

/** What the rows of a skeleton have, in this order; times in nanoseconds, ids in hexadecimal. */
export const SKELETON_COLUMNS = [
  /** From the start of the trace. */
  'start_offset_ns',
  'span_id',
  'parent_span_id',
  'name',
  'kind',
  'operation_kind',
  'duration_ns',
  'status',
  'error_type',
  'llm_call',
  /** True for a call that the totals count: no other span stands for it. */
  'counted',
  'model',
  'agent',
  'task',
  'tool',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  /** What its sender says. */
  'cost_usd',
  /** By the collector's table of prices. */
  'computed_cost_usd',
  /** True when the sender left something out. */
  'cut',
] as const

/** The spans of a trace without their texts. Rows are read as they are: there may be 100,000. */
export const skeleton = v.object({
  trace_id: v.string(),
  start_time_unix_nano: v.pipe(v.string(), v.digits()),
  columns: v.pipe(v.array(v.string()), v.readonly()),
  spans: v.array(v.custom<readonly unknown[]>(Array.isArray)),
  truncated: v.boolean(),
  next_cursor: v.nullable(v.string()),
})

const part = v.variant('type', [
  v.object({ type: v.picklist(['text', 'reasoning']), text: v.string() }),
  v.object({
    type: v.literal('tool_call'),
    id: v.optional(v.string()),
    name: v.string(),
    /** The JSON that the sender wrote, or its text where it is none. */
    arguments: v.unknown(),
  }),
  v.object({ type: v.literal('tool_result'), id: v.optional(v.string()), content: v.string() }),
  v.object({ type: v.literal('image'), url: v.string(), mime_type: v.optional(v.string()) }),
])

const message = v.object({
  /** The sender's word, such as system, user, assistant or tool. */
  role: v.string(),
  content: v.pipe(v.array(part), v.readonly()),
})

const messages = v.object({
  input: v.pipe(v.array(message), v.readonly()),
  output: v.pipe(v.array(message), v.readonly()),
})

/** A value of OTLP's JSON encoding: `{ "stringValue": "x" }` and its like. */
const anyValue = v.record(v.string(), v.unknown())
const keyValue = v.object({ key: v.string(), value: v.optional(anyValue, {}) })
const attributes = v.optional(v.array(keyValue), [])

/** A span with all that is known of it. */
export const spanView = v.object({
  /** As it was sent: a Span of OTLP's JSON encoding. */
  span: v.object({
    traceId: v.string(),
    spanId: v.string(),
    parentSpanId: v.optional(v.string()),
    name: v.string(),
    kind: v.optional(v.number(), 0),
    startTimeUnixNano: v.string(),
    endTimeUnixNano: v.optional(v.string()),
    attributes,
    droppedAttributesCount: v.optional(v.number(), 0),
    events: v.optional(
      v.array(
        v.object({
          timeUnixNano: v.optional(v.string()),
          name: v.optional(v.string(), ''),
          attributes,
        }),
      ),
      [],
    ),
    droppedEventsCount: v.optional(v.number(), 0),
    links: v.optional(
      v.array(
        v.object({
          traceId: v.optional(v.string(), ''),
          spanId: v.optional(v.string(), ''),
          attributes,
        }),
      ),
      [],
    ),
    droppedLinksCount: v.optional(v.number(), 0),
    status: v.optional(
      v.object({ code: v.optional(v.number(), 0), message: v.optional(v.string()) }),
      {},
    ),
  }),
  resource: v.object({ attributes }),
  scope: v.object({
    name: v.optional(v.string()),
    version: v.optional(v.string()),
    attributes,
  }),
  /** The columns that were filled from attributes, and what follows from them; null for none. */
  columns: v.record(v.string(), v.unknown()),
  messages,
  /** True for a span that is too large for an answer: its large values and events are left out. */
  truncated: v.boolean(),
})

/** A page of what a search in a trace found. */
export type SearchPage = v.InferOutput<typeof searchPage>
/** A column of a skeleton. */
export type SkeletonColumn = (typeof SKELETON_COLUMNS)[number]
/** A part of a message. */
export type Part = v.InferOutput<typeof part>
/** A message to a model, or from it. */
export type Message = v.InferOutput<typeof message>
/** The messages that a span was given and those that it answered. */
export type Messages = v.InferOutput<typeof messages>
/** A key and a value of OTLP's JSON encoding. */
export type KeyValue = v.InferOutput<typeof keyValue>
/** A span with all that the collector knows of it. */
export type SpanView = v.InferOutput<typeof spanView>

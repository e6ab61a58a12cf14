import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'

/** A value of OTLP's JSON encoding: `{ "stringValue": "x" }` and its like. */
const anyValue = v.record(v.string(), v.unknown())

const keyValue = v.object({ key: v.string(), value: v.optional(anyValue, {}) })
const attributes = v.optional(v.array(keyValue), [])

const event = v.object({
  timeUnixNano: v.optional(v.string()),
  name: v.optional(v.string(), ''),
  attributes,
})

const link = v.object({
  traceId: v.optional(v.string(), ''),
  spanId: v.optional(v.string(), ''),
  attributes,
})

const part = v.variant('type', [
  v.object({ type: v.picklist(['text', 'reasoning']), text: v.string() }),
  v.object({
    type: v.literal('tool_call'),
    id: v.optional(v.string()),
    name: v.string(),
    arguments: v.unknown(),
  }),
  v.object({ type: v.literal('tool_result'), id: v.optional(v.string()), content: v.string() }),
  v.object({ type: v.literal('image'), url: v.string(), mime_type: v.optional(v.string()) }),
])

const messages = v.array(v.object({ role: v.string(), content: v.array(part) }))

const spanView = v.object({
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
    events: v.optional(v.array(event), []),
    droppedEventsCount: v.optional(v.number(), 0),
    links: v.optional(v.array(link), []),
    droppedLinksCount: v.optional(v.number(), 0),
    status: v.optional(
      v.object({ code: v.optional(v.number(), 0), message: v.optional(v.string()) }),
      {},
    ),
  }),
  resource: v.object({ attributes }),
  scope: v.object({ name: v.optional(v.string()), version: v.optional(v.string()), attributes }),
  columns: v.record(v.string(), v.unknown()),
  messages: v.object({ input: messages, output: messages }),
  truncated: v.boolean(),
})

/** A span with all that the collector knows of it. */
export type SpanView = v.InferOutput<typeof spanView>
/** A key and a value of OTLP's JSON encoding. */
export type KeyValue = v.InferOutput<typeof keyValue>
/** A message to a model, or from it. */
export type Message = v.InferOutput<typeof messages>[number]
/** A part of a message. */
export type Part = v.InferOutput<typeof part>

/** Raises `bad_gateway` for anything that is not a span as the collector shows it. */
export function readSpanView(document: unknown): SpanView {
  const read = v.safeParse(spanView, document)
  if (read.success) return read.output
  throw new AppError('bad_gateway', 'The trace collector answered with something that is no span.')
}

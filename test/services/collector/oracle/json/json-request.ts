import { asObject, optionalText, parseJson, uint32, uint64 } from './json-input.ts'
import type { JsonObject } from './json-input.ts'
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from '../../../../../services/collector/otlp/limits.ts'
import { attributeFields, objectFields } from './json-attributes.ts'
import {
  bytesField,
  fixed32Field,
  fixed64Field,
  messageField,
  protobufMessage,
  varintField,
} from './protobuf-fields.ts'
import type { Parts } from './protobuf-fields.ts'
import { REQUEST_TAGS as TAGS } from '../../../../../services/collector/otlp/tags.ts'

/**
 * An ExportTraceServiceRequest in OTLP's JSON encoding as the same message in protobuf, by way of
 * JSON.parse: what the rewriter in WebAssembly is held to. Raises `invalid_request` for a body that
 * is not JSON or has a value of the wrong kind. An id or an enum that cannot be read is written as
 * one that the transcoder refuses: that span is lost, not the request.
 */
export function jsonRequestToProtobuf(body: Buffer): Buffer {
  const root = asObject(parseJson(body), 'the body')
  const list: List = ['resourceSpans', TAGS.request.resourceSpans, resourceSpans]
  return protobufMessage((to) => messages(to, root, list))
}

/** A name in JSON and a tag in protobuf. */
type Field = readonly [name: string, tag: number]
type List = readonly [...Field, write: (to: Parts, item: JsonObject) => void]

function messages(to: Parts, item: JsonObject, [name, tag, write]: List): void {
  objectFields(to, tag, { list: item[name], name, write: (child) => write(to, child) })
}

// Fields are given in reverse order, as `Parts` wants them.

function resourceSpans(to: Parts, item: JsonObject): void {
  const tags = TAGS.resourceSpans
  text(to, item, ['schemaUrl', tags.schemaUrl])
  messages(to, item, ['scopeSpans', tags.scopeSpans, scopeSpans])
  messageField(to, tags.resource, () => resource(to, asObject(item['resource'] ?? {}, 'resource')))
}

function resource(to: Parts, item: JsonObject): void {
  const tags = TAGS.resource
  count(to, item, ['droppedAttributesCount', tags.droppedAttributesCount])
  attributeFields(to, tags.attributes, item)
}

function scopeSpans(to: Parts, item: JsonObject): void {
  const tags = TAGS.scopeSpans
  text(to, item, ['schemaUrl', tags.schemaUrl])
  messages(to, item, ['spans', tags.spans, span])
  messageField(to, tags.scope, () => scope(to, asObject(item['scope'] ?? {}, 'scope')))
}

function scope(to: Parts, item: JsonObject): void {
  const tags = TAGS.scope
  count(to, item, ['droppedAttributesCount', tags.droppedAttributesCount])
  attributeFields(to, tags.attributes, item)
  text(to, item, ['version', tags.version])
  text(to, item, ['name', tags.name])
}

function span(to: Parts, item: JsonObject): void {
  const tags = TAGS.span
  fixed32Field(to, tags.flags, uint32(item['flags'], 'flags'))
  messageField(to, tags.status, () => status(to, asObject(item['status'] ?? {}, 'status')))
  count(to, item, ['droppedLinksCount', tags.droppedLinksCount])
  messages(to, item, ['links', tags.links, link])
  count(to, item, ['droppedEventsCount', tags.droppedEventsCount])
  messages(to, item, ['events', tags.events, event])
  count(to, item, ['droppedAttributesCount', tags.droppedAttributesCount])
  attributeFields(to, tags.attributes, item)
  time(to, item, ['endTimeUnixNano', tags.endTimeUnixNano])
  time(to, item, ['startTimeUnixNano', tags.startTimeUnixNano])
  varintField(to, tags.kind, enumeration(item['kind']))
  text(to, item, ['name', tags.name])
  id(to, item, ['parentSpanId', tags.parentSpanId])
  text(to, item, ['traceState', tags.traceState])
  id(to, item, ['spanId', tags.spanId])
  id(to, item, ['traceId', tags.traceId])
}

function event(to: Parts, item: JsonObject): void {
  const tags = TAGS.event
  count(to, item, ['droppedAttributesCount', tags.droppedAttributesCount])
  attributeFields(to, tags.attributes, item)
  text(to, item, ['name', tags.name])
  time(to, item, ['timeUnixNano', tags.timeUnixNano])
}

function link(to: Parts, item: JsonObject): void {
  const tags = TAGS.link
  fixed32Field(to, tags.flags, uint32(item['flags'], 'flags'))
  count(to, item, ['droppedAttributesCount', tags.droppedAttributesCount])
  attributeFields(to, tags.attributes, item)
  text(to, item, ['traceState', tags.traceState])
  id(to, item, ['spanId', tags.spanId])
  id(to, item, ['traceId', tags.traceId])
}

function status(to: Parts, item: JsonObject): void {
  varintField(to, TAGS.status.code, enumeration(item['code']))
  text(to, item, ['message', TAGS.status.message])
}

function text(to: Parts, item: JsonObject, [name, tag]: Field): void {
  const value = optionalText(item[name], name)
  if (value !== '') bytesField(to, tag, value)
}

const count = (to: Parts, item: JsonObject, [name, tag]: Field): void =>
  varintField(to, tag, uint32(item[name], name))

const time = (to: Parts, item: JsonObject, [name, tag]: Field): void =>
  fixed64Field(to, tag, uint64(item[name], name))

const ID_BYTES: Readonly<Record<string, number>> = {
  traceId: TRACE_ID_BYTES,
  spanId: SPAN_ID_BYTES,
  parentSpanId: SPAN_ID_BYTES,
}

/**
 * Hexadecimal in either case; the base64 of plain protobuf JSON, which some senders use, is
 * accepted too.
 */
function id(to: Parts, item: JsonObject, [name, tag]: Field): void {
  const value = optionalText(item[name], name)
  const size = ID_BYTES[name] ?? 0
  if (value === '') return
  if (value.length === size * 2 && /^[0-9a-f]+$/i.test(value)) {
    return bytesField(to, tag, Buffer.from(value, 'hex'))
  }
  const decoded = Buffer.from(value, 'base64')
  const isBase64 = decoded.length === size && /^[\w+/-]+={0,2}$/.test(value)
  bytesField(to, tag, isBase64 ? decoded : UNREADABLE)
}

/** One byte is no valid length of an id. */
const UNREADABLE = Buffer.from([0])
/** No valid kind or status code. */
const NOT_AN_ENUM = 0x7fffffff

function enumeration(value: unknown): number | bigint {
  if (value === undefined || value === null) return 0
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : NOT_AN_ENUM
}

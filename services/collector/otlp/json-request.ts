import { toError } from '../../shared/errors.ts'
import { HEAP } from '../memory.ts'
import { asObject, optionalText, parseJson, uint32, uint64, wrong } from './json-input.ts'
import type { JsonObject } from './json-input.ts'
import { attributeFields, objectFields } from './json-attributes.ts'
import {
  bytesField,
  fixed32Field,
  fixed64Field,
  messageField,
  protobufMessage,
  varintField,
} from './protobuf-writer.ts'
import type { ProtobufWriter } from './protobuf-writer.ts'

/**
 * An ExportTraceServiceRequest in OTLP's JSON encoding as the same message in protobuf: one transcoder serves both.
 * Names are lowerCamelCase, ids hexadecimal, enums numbers, unknown names ignored (OTLP 1.11, "JSON Protobuf Encoding").
 * Raises `invalid_request` for a body that is not JSON or has a value of the wrong kind, `unavailable` when `memory`
 * does not reach. An id or an enum that cannot be read is written as one that the transcoder refuses: that span is
 * lost, not the request.
 */
export function jsonRequestToProtobuf(body: Buffer, memory = HEAP): Buffer {
  const root = asObject(parseJson(body), 'the body')
  try {
    const write = (to: ProtobufWriter) => messages(to, root, ['resourceSpans', 1, resourceSpans])
    return protobufMessage(write, { size: body.length, memory })
  } catch (thrown) {
    // A string of a megabyte in place of an object, or a message larger than a Buffer can be.
    if (toError(thrown) instanceof RangeError) throw wrong('the body', 'is too large')
    throw thrown
  }
}

/** A name in JSON and a number in protobuf. */
type Field = readonly [name: string, field: number]
type List = readonly [...Field, write: (to: ProtobufWriter, item: JsonObject) => void]

function messages(to: ProtobufWriter, item: JsonObject, [name, field, write]: List): void {
  objectFields(to, field, { list: item[name], name, write: (child) => write(to, child) })
}

function resourceSpans(to: ProtobufWriter, item: JsonObject): void {
  text(to, item, ['schemaUrl', 3])
  messages(to, item, ['scopeSpans', 2, scopeSpans])
  messageField(to, 1, () => resource(to, asObject(item['resource'] ?? {}, 'resource')))
}

function resource(to: ProtobufWriter, item: JsonObject): void {
  count(to, item, ['droppedAttributesCount', 2])
  attributeFields(to, 1, item)
}

function scopeSpans(to: ProtobufWriter, item: JsonObject): void {
  text(to, item, ['schemaUrl', 3])
  messages(to, item, ['spans', 2, span])
  messageField(to, 1, () => scope(to, asObject(item['scope'] ?? {}, 'scope')))
}

function scope(to: ProtobufWriter, item: JsonObject): void {
  count(to, item, ['droppedAttributesCount', 4])
  attributeFields(to, 3, item)
  text(to, item, ['version', 2])
  text(to, item, ['name', 1])
}

function span(to: ProtobufWriter, item: JsonObject): void {
  fixed32Field(to, 16, uint32(item['flags'], 'flags'))
  messageField(to, 15, () => status(to, asObject(item['status'] ?? {}, 'status')))
  count(to, item, ['droppedLinksCount', 14])
  messages(to, item, ['links', 13, link])
  count(to, item, ['droppedEventsCount', 12])
  messages(to, item, ['events', 11, event])
  count(to, item, ['droppedAttributesCount', 10])
  attributeFields(to, 9, item)
  time(to, item, ['endTimeUnixNano', 8])
  time(to, item, ['startTimeUnixNano', 7])
  varintField(to, 6, enumeration(item['kind']))
  text(to, item, ['name', 5])
  id(to, item, ['parentSpanId', 4])
  text(to, item, ['traceState', 3])
  id(to, item, ['spanId', 2])
  id(to, item, ['traceId', 1])
}

function event(to: ProtobufWriter, item: JsonObject): void {
  count(to, item, ['droppedAttributesCount', 4])
  attributeFields(to, 3, item)
  text(to, item, ['name', 2])
  time(to, item, ['timeUnixNano', 1])
}

function link(to: ProtobufWriter, item: JsonObject): void {
  fixed32Field(to, 6, uint32(item['flags'], 'flags'))
  count(to, item, ['droppedAttributesCount', 5])
  attributeFields(to, 4, item)
  text(to, item, ['traceState', 3])
  id(to, item, ['spanId', 2])
  id(to, item, ['traceId', 1])
}

function status(to: ProtobufWriter, item: JsonObject): void {
  varintField(to, 3, enumeration(item['code']))
  text(to, item, ['message', 2])
}

function text(to: ProtobufWriter, item: JsonObject, [name, field]: Field): void {
  const value = optionalText(item[name], name)
  if (value !== '') bytesField(to, field, value)
}

const count = (to: ProtobufWriter, item: JsonObject, [name, field]: Field): void =>
  varintField(to, field, uint32(item[name], name))

const time = (to: ProtobufWriter, item: JsonObject, [name, field]: Field): void =>
  fixed64Field(to, field, uint64(item[name], name))

const ID_BYTES: Record<string, number> = { traceId: 16, spanId: 8, parentSpanId: 8 }

/** Hexadecimal in either case; the base64 of plain protobuf JSON, which some senders use, is accepted too. */
function id(to: ProtobufWriter, item: JsonObject, [name, field]: Field): void {
  const value = optionalText(item[name], name)
  const size = ID_BYTES[name] ?? 0
  if (value === '') return
  if (value.length === size * 2 && /^[0-9a-f]+$/i.test(value)) {
    return bytesField(to, field, Buffer.from(value, 'hex'))
  }
  const decoded = Buffer.from(value, 'base64')
  const isBase64 = decoded.length === size && /^[\w+/-]+={0,2}$/.test(value)
  bytesField(to, field, isBase64 ? decoded : UNREADABLE)
}

/** One byte is no valid length of an id. */
const UNREADABLE = Buffer.from([0])
/** No valid kind or status code. */
const NOT_AN_ENUM = 0x7fffffff

function enumeration(value: unknown): number | bigint {
  if (value === undefined || value === null) return 0
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : NOT_AN_ENUM
}

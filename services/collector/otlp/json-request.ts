import { toError } from '../../shared/errors.ts'
import { asArray, asObject, optionalText, parseJson, uint32, uint64, wrong } from './json-input.ts'
import type { JsonObject } from './json-input.ts'
import { attributeFields } from './json-attributes.ts'
import { bytesField, fixed32Field, fixed64Field, varintField } from './protobuf-writer.ts'

/**
 * An ExportTraceServiceRequest in OTLP's JSON encoding as the same message in protobuf: one transcoder serves both.
 * Names are lowerCamelCase, ids hexadecimal, enums numbers, unknown names ignored (OTLP 1.11, "JSON Protobuf Encoding").
 * Raises `invalid_request` for a body that is not JSON or has a value of the wrong kind. An id or an enum that cannot
 * be read is written as one that the transcoder refuses: that span is lost, not the request.
 */
export function jsonRequestToProtobuf(body: Buffer): Buffer {
  const root = asObject(parseJson(body), 'the body')
  try {
    return message(root, 'resourceSpans', (item) => bytesField(1, resourceSpans(item)))
  } catch (thrown) {
    // A string of a megabyte in place of an object, or a message larger than a Buffer can be.
    if (toError(thrown) instanceof RangeError) throw wrong('the body', 'is too large')
    throw thrown
  }
}

function message(parent: JsonObject, name: string, convert: (item: JsonObject) => Buffer): Buffer {
  return Buffer.concat(asArray(parent[name], name).map((item) => convert(asObject(item, name))))
}

function resourceSpans(item: JsonObject): Buffer {
  return Buffer.concat([
    bytesField(1, resource(asObject(item['resource'] ?? {}, 'resource'))),
    message(item, 'scopeSpans', (scope) => bytesField(2, scopeSpans(scope))),
    text(item, 'schemaUrl', 3),
  ])
}

function resource(item: JsonObject): Buffer {
  return Buffer.concat([attributeFields(item, 1), varintField(2, dropped(item))])
}

function scopeSpans(item: JsonObject): Buffer {
  return Buffer.concat([
    bytesField(1, scope(asObject(item['scope'] ?? {}, 'scope'))),
    message(item, 'spans', (child) => bytesField(2, span(child))),
    text(item, 'schemaUrl', 3),
  ])
}

function scope(item: JsonObject): Buffer {
  return Buffer.concat([
    text(item, 'name', 1),
    text(item, 'version', 2),
    attributeFields(item, 3),
    varintField(4, dropped(item)),
  ])
}

function span(item: JsonObject): Buffer {
  return Buffer.concat([
    id(item, 'traceId', 1),
    id(item, 'spanId', 2),
    text(item, 'traceState', 3),
    id(item, 'parentSpanId', 4),
    text(item, 'name', 5),
    varintField(6, enumeration(item['kind'])),
    fixed64Field(7, uint64(item['startTimeUnixNano'], 'startTimeUnixNano')),
    fixed64Field(8, uint64(item['endTimeUnixNano'], 'endTimeUnixNano')),
    attributeFields(item, 9),
    varintField(10, dropped(item)),
    message(item, 'events', (child) => bytesField(11, event(child))),
    varintField(12, BigInt(uint32(item['droppedEventsCount'], 'droppedEventsCount'))),
    message(item, 'links', (child) => bytesField(13, link(child))),
    varintField(14, BigInt(uint32(item['droppedLinksCount'], 'droppedLinksCount'))),
    bytesField(15, status(asObject(item['status'] ?? {}, 'status'))),
    fixed32Field(16, uint32(item['flags'], 'flags')),
  ])
}

function event(item: JsonObject): Buffer {
  return Buffer.concat([
    fixed64Field(1, uint64(item['timeUnixNano'], 'timeUnixNano')),
    text(item, 'name', 2),
    attributeFields(item, 3),
    varintField(4, dropped(item)),
  ])
}

function link(item: JsonObject): Buffer {
  return Buffer.concat([
    id(item, 'traceId', 1),
    id(item, 'spanId', 2),
    text(item, 'traceState', 3),
    attributeFields(item, 4),
    varintField(5, dropped(item)),
    fixed32Field(6, uint32(item['flags'], 'flags')),
  ])
}

function status(item: JsonObject): Buffer {
  return Buffer.concat([text(item, 'message', 2), varintField(3, enumeration(item['code']))])
}

function text(item: JsonObject, name: string, field: number): Buffer {
  const value = optionalText(item[name], name)
  return value === '' ? Buffer.alloc(0) : bytesField(field, value)
}

const dropped = (item: JsonObject): bigint =>
  BigInt(uint32(item['droppedAttributesCount'], 'droppedAttributesCount'))

const ID_BYTES: Record<string, number> = { traceId: 16, spanId: 8, parentSpanId: 8 }

/** Hexadecimal in either case; the base64 of plain protobuf JSON, which some senders use, is accepted too. */
function id(item: JsonObject, name: string, field: number): Buffer {
  const value = optionalText(item[name], name)
  const size = ID_BYTES[name] ?? 0
  if (value === '') return Buffer.alloc(0)
  if (value.length === size * 2 && /^[0-9a-f]+$/i.test(value)) {
    return bytesField(field, Buffer.from(value, 'hex'))
  }
  const decoded = Buffer.from(value, 'base64')
  const isBase64 = decoded.length === size && /^[\w+/-]+={0,2}$/.test(value)
  return bytesField(field, isBase64 ? decoded : UNREADABLE)
}

/** One byte is no valid length of an id. */
const UNREADABLE = Buffer.from([0])
/** No valid kind or status code. */
const NOT_AN_ENUM = 0x7fffffffn

function enumeration(value: unknown): bigint {
  if (value === undefined || value === null) return 0n
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : NOT_AN_ENUM
}

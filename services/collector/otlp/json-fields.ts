import { MAX_JSON_FIELDS, MAX_JSON_MESSAGES, SPAN_ID_BYTES, TRACE_ID_BYTES } from './limits.ts'
import type { WriteText } from './table-texts.ts'
import { REQUEST_TAGS } from './tags.ts'

/**
 * How OTLP's JSON encoding has the fields of a request: names are lowerCamelCase, ids hexadecimal,
 * enums numbers, 64-bit numbers also in quotes (OTLP 1.11, "JSON Protobuf Encoding"). `npm run
 * assemble` numbers the forms, from 1.
 */
export const JSON_FORMS = [
  'list',
  'message',
  'nested',
  'text',
  'given_text',
  'bytes',
  'id',
  'bool',
  'uint32',
  'fixed32',
  'int64',
  'time',
  'enum',
  'double',
] as const
type Form = (typeof JSON_FORMS)[number]

/** A form, and the bytes of an id or the message that is held. */
interface JsonField {
  readonly form: Form
  readonly bytes?: number
  readonly message?: string
}

const list = (message: string): JsonField => ({ form: 'list', message })
const object = (message: string): JsonField => ({ form: 'message', message })
/** One of the values that a value holds; they nest. */
const nested = (message: string): JsonField => ({ form: 'nested', message })
const id = (bytes: number): JsonField => ({ form: 'id', bytes })
const text: JsonField = { form: 'text' }
const uint32: JsonField = { form: 'uint32' }
const time: JsonField = { form: 'time' }

type Tags = typeof REQUEST_TAGS
type Fields<Name extends keyof Tags> = Readonly<Record<keyof Tags[Name], JsonField>>

const EVENT: Fields<'event'> = {
  timeUnixNano: time,
  name: text,
  attributes: list('keyValue'),
  droppedAttributesCount: uint32,
}
const LINK: Fields<'link'> = {
  traceId: id(TRACE_ID_BYTES),
  spanId: id(SPAN_ID_BYTES),
  traceState: text,
  attributes: list('keyValue'),
  droppedAttributesCount: uint32,
  flags: { form: 'fixed32' },
}
const SPAN: Fields<'span'> = {
  traceId: id(TRACE_ID_BYTES),
  spanId: id(SPAN_ID_BYTES),
  traceState: text,
  parentSpanId: id(SPAN_ID_BYTES),
  name: text,
  kind: { form: 'enum' },
  startTimeUnixNano: time,
  endTimeUnixNano: time,
  attributes: list('keyValue'),
  droppedAttributesCount: uint32,
  events: list('event'),
  droppedEventsCount: uint32,
  links: list('link'),
  droppedLinksCount: uint32,
  status: object('status'),
  flags: { form: 'fixed32' },
}

type JsonMessages = Readonly<
  { [Name in Exclude<keyof Tags, 'list'>]: Fields<Name> } & {
    arrayValue: Fields<'list'>
    kvlistValue: Fields<'list'>
  }
>

/** The fields of each message, in the order of their tags. */
export const JSON_MESSAGES: JsonMessages = {
  request: { resourceSpans: list('resourceSpans') },
  resourceSpans: { resource: object('resource'), scopeSpans: list('scopeSpans'), schemaUrl: text },
  scopeSpans: { scope: object('scope'), spans: list('span'), schemaUrl: text },
  resource: { attributes: list('keyValue'), droppedAttributesCount: uint32 },
  scope: {
    name: text,
    version: text,
    attributes: list('keyValue'),
    droppedAttributesCount: uint32,
  },
  span: SPAN,
  status: { message: text, code: { form: 'enum' } },
  event: EVENT,
  link: LINK,
  keyValue: { key: { form: 'given_text' }, value: object('anyValue') },
  anyValue: {
    stringValue: { form: 'given_text' },
    boolValue: { form: 'bool' },
    intValue: { form: 'int64' },
    doubleValue: { form: 'double' },
    arrayValue: nested('arrayValue'),
    kvlistValue: nested('kvlistValue'),
    bytesValue: { form: 'bytes' },
  },
  arrayValue: { values: list('anyValue') },
  kvlistValue: { values: list('keyValue') },
}

/** Those of the messages that the module treats in a way of their own, and so knows by number. */
export const KNOWN_MESSAGES = [
  'request',
  'resourceSpans',
  'scopeSpans',
  'span',
  'link',
  'keyValue',
  'anyValue',
] as const

/** The module's table of fields. */
export interface FieldTable {
  /** Adds the field whose name was written last, in quotes and with a colon. */
  addField(message: number, size: number, ...[tag, form, detail]: [number, number, number]): void
}

const MESSAGES = Object.entries(JSON_MESSAGES)

function tagOf(message: string, field: string): number {
  const tags: Readonly<Record<string, Readonly<Record<string, number>>>> = REQUEST_TAGS
  return (tags[message] ?? tags['list'])?.[field] ?? Number.NaN
}

/** Fills the module's table; returns the name of each field. */
export function addJsonFields(table: FieldTable, write: WriteText): string[] {
  const names = MESSAGES.flatMap(([, fields]) => Object.keys(fields))
  if (names.length > MAX_JSON_FIELDS || MESSAGES.length > MAX_JSON_MESSAGES) {
    throw new Error('limits.ts has no room for all fields of OTLP in JSON.')
  }
  for (const [index, [message, fields]] of MESSAGES.entries()) {
    for (const [name, field] of Object.entries<JsonField>(fields)) {
      const held = MESSAGES.findIndex(([other]) => other === field.message)
      const form = JSON_FORMS.indexOf(field.form) + 1
      const detail = field.bytes ?? Math.max(0, held)
      table.addField(index, write(`"${name}":`), tagOf(message, name), form, detail)
    }
  }
  return names
}

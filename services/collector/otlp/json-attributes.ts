import { asArray, asObject, int64, optionalText, wrong } from './json-input.ts'
import type { JsonObject } from './json-input.ts'
import { MAX_DEPTH } from './json-value.ts'
import { bytesField, doubleField, explicitVarintField, messageField } from './protobuf-writer.ts'
import type { ProtobufWriter } from './protobuf-writer.ts'

/** The `attributes` of an OTLP JSON object as repeated KeyValue fields of the given number. */
export function attributeFields(to: ProtobufWriter, field: number, item: JsonObject): void {
  const write: Write = (child) => keyValue(to, child, 0)
  objectFields(to, field, { list: item['attributes'], name: 'attributes', write })
}

type Write = (item: JsonObject) => void

/** A list of objects, each as a message whose fields `write` gives. */
export function objectFields(
  to: ProtobufWriter,
  field: number,
  { list, name, write }: { list: unknown; name: string; write: Write },
): void {
  const items = asArray(list, name)
  for (let i = items.length - 1; i >= 0; i--) {
    messageField(to, field, () => write(asObject(items[i], name)))
  }
}

function keyValue(to: ProtobufWriter, item: JsonObject, depth: number): void {
  const { key, value } = item
  if (value !== undefined && value !== null) {
    messageField(to, 2, () => anyValue(to, asObject(value, 'value'), depth))
  }
  bytesField(to, 1, optionalText(key, 'key'))
}

/** Of several values the last one counts. */
function anyValue(to: ProtobufWriter, value: JsonObject, depth: number): void {
  for (const [kind, given] of Object.entries(value).toReversed()) {
    const write = given === null ? undefined : WRITE.get(kind)
    if (write) return write(to, given, depth)
  }
}

type WriteValue = (to: ProtobufWriter, value: unknown, depth: number) => void

const WRITE = new Map<string, WriteValue>([
  ['stringValue', (to, value) => bytesField(to, 1, optionalText(value, 'stringValue'))],
  ['boolValue', (to, value) => explicitVarintField(to, 2, Number(boolean(value)))],
  ['intValue', (to, value) => explicitVarintField(to, 3, int64(value, 'intValue'))],
  ['doubleValue', (to, value) => doubleField(to, 4, double(value))],
  ['arrayValue', (to, value, depth) => messageField(to, 5, () => elements(to, value, depth + 1))],
  ['kvlistValue', (to, value, depth) => messageField(to, 6, () => members(to, value, depth + 1))],
  ['bytesValue', (to, value) => bytesField(to, 7, bytes(value))],
])

const bytes = (value: unknown): Buffer => Buffer.from(optionalText(value, 'bytesValue'), 'base64')

/** Values nested deeper than the transcoder takes need not be written out: one level more makes it refuse the span. */
const isTooDeep = (depth: number): boolean => depth > MAX_DEPTH + 1

function elements(to: ProtobufWriter, value: unknown, depth: number): void {
  if (isTooDeep(depth)) return
  const { values: list } = asObject(value, 'arrayValue')
  const write: Write = (item) => anyValue(to, item, depth)
  objectFields(to, 1, { list, name: 'values', write })
}

function members(to: ProtobufWriter, value: unknown, depth: number): void {
  if (isTooDeep(depth)) return
  const { values: list } = asObject(value, 'kvlistValue')
  const write: Write = (item) => keyValue(to, item, depth)
  objectFields(to, 1, { list, name: 'values', write })
}

function boolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw wrong('boolValue', 'must be true or false')
}

function double(value: unknown): number {
  if (typeof value === 'number') return value
  if (value === 'NaN' || value === 'Infinity' || value === '-Infinity') return Number(value)
  if (typeof value === 'string' && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)) return Number(value)
  throw wrong('doubleValue', 'must be a number')
}

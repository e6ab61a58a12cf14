import { asArray, asObject, int64, optionalText, wrong } from './json-input.ts'
import type { JsonObject } from './json-input.ts'
import { MAX_DEPTH } from './json-value.ts'
import { bytesField, doubleField, explicitVarintField } from './protobuf-writer.ts'

/** The `attributes` of an OTLP JSON object as repeated KeyValue fields of the given number. */
export function attributeFields(item: JsonObject, field: number): Buffer {
  return keyValues(item['attributes'], 'attributes', { field, depth: 0 })
}

function keyValues(
  list: unknown,
  name: string,
  { field, depth }: { field: number; depth: number },
): Buffer {
  const fields = asArray(list, name).map((item) =>
    bytesField(field, keyValue(asObject(item, name), depth)),
  )
  return Buffer.concat(fields)
}

function keyValue(item: JsonObject, depth: number): Buffer {
  const { value } = item
  const key = bytesField(1, optionalText(item['key'], 'key'))
  if (value === undefined || value === null) return key
  return Buffer.concat([key, bytesField(2, anyValue(asObject(value, 'value'), depth))])
}

function anyValue(value: JsonObject, depth: number): Buffer {
  let field: Buffer = Buffer.alloc(0)
  for (const [kind, given] of Object.entries(value)) {
    const convert = CONVERT.get(kind)
    if (convert && given !== null) field = convert(given, depth)
  }
  return field
}

type Convert = (value: unknown, depth: number) => Buffer

const CONVERT = new Map<string, Convert>([
  ['stringValue', (value) => bytesField(1, optionalText(value, 'stringValue'))],
  ['boolValue', (value) => explicitVarintField(2, boolean(value) ? 1n : 0n)],
  ['intValue', (value) => explicitVarintField(3, int64(value, 'intValue'))],
  ['doubleValue', (value) => doubleField(4, double(value))],
  ['arrayValue', (value, depth) => bytesField(5, nested(elements, value, depth))],
  ['kvlistValue', (value, depth) => bytesField(6, nested(members, value, depth))],
  ['bytesValue', (value) => bytesField(7, bytes(value))],
])

const bytes = (value: unknown): Buffer => Buffer.from(optionalText(value, 'bytesValue'), 'base64')

/** Values nested deeper than the transcoder takes need not be written out: one level more makes it refuse the span. */
function nested(convert: Convert, value: unknown, depth: number): Buffer {
  return depth > MAX_DEPTH ? Buffer.alloc(0) : convert(value, depth + 1)
}

function elements(value: unknown, depth: number): Buffer {
  const { values } = asObject(value, 'arrayValue')
  const items = asArray(values, 'values')
  return Buffer.concat(
    items.map((item) => bytesField(1, anyValue(asObject(item, 'values'), depth))),
  )
}

function members(value: unknown, depth: number): Buffer {
  const { values } = asObject(value, 'kvlistValue')
  return keyValues(values, 'values', { field: 1, depth })
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

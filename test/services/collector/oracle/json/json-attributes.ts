import { asArray, asObject, int64, optionalText, wrong } from './json-input.ts'
import type { JsonObject } from './json-input.ts'
import { MAX_DEPTH } from '../../../../../services/collector/otlp/limits.ts'
import { bytesField, doubleField, explicitVarintField, messageField } from './protobuf-fields.ts'
import type { Parts } from './protobuf-fields.ts'
import { REQUEST_TAGS } from '../../../../../services/collector/otlp/tags.ts'

const { keyValue: PAIR, anyValue: ANY, list: LIST } = REQUEST_TAGS

/** The `attributes` of an OTLP JSON object as repeated KeyValue fields of the given tag. */
export function attributeFields(to: Parts, tag: number, item: JsonObject): void {
  const write: Write = (child) => keyValue(to, child, 0)
  objectFields(to, tag, { list: item['attributes'], name: 'attributes', write })
}

type Write = (item: JsonObject) => void

/** A list of objects, each as a message whose fields `write` gives. */
export function objectFields(
  to: Parts,
  tag: number,
  { list, name, write }: { list: unknown; name: string; write: Write },
): void {
  const items = asArray(list, name)
  for (let i = items.length - 1; i >= 0; i--) {
    messageField(to, tag, () => write(asObject(items[i], name)))
  }
}

function keyValue(to: Parts, item: JsonObject, depth: number): void {
  const { key, value } = item
  if (value !== undefined && value !== null) {
    messageField(to, PAIR.value, () => anyValue(to, asObject(value, 'value'), depth))
  }
  bytesField(to, PAIR.key, optionalText(key, 'key'))
}

/** Of several values the last one counts. */
function anyValue(to: Parts, value: JsonObject, depth: number): void {
  for (const [kind, given] of Object.entries(value).toReversed()) {
    const write = given === null ? undefined : WRITE.get(kind)
    if (write) return write(to, given, depth)
  }
}

type WriteValue = (to: Parts, value: unknown, depth: number) => void

const WRITE = new Map<string, WriteValue>([
  [
    'stringValue',
    (to, value) => bytesField(to, ANY.stringValue, optionalText(value, 'stringValue')),
  ],
  ['boolValue', (to, value) => explicitVarintField(to, ANY.boolValue, Number(boolean(value)))],
  ['intValue', (to, value) => explicitVarintField(to, ANY.intValue, int64(value, 'intValue'))],
  ['doubleValue', (to, value) => doubleField(to, ANY.doubleValue, double(value))],
  [
    'arrayValue',
    (to, value, depth) => messageField(to, ANY.arrayValue, () => elements(to, value, depth + 1)),
  ],
  [
    'kvlistValue',
    (to, value, depth) => messageField(to, ANY.kvlistValue, () => members(to, value, depth + 1)),
  ],
  ['bytesValue', (to, value) => bytesField(to, ANY.bytesValue, bytes(value))],
])

const bytes = (value: unknown): Buffer => Buffer.from(optionalText(value, 'bytesValue'), 'base64')

/**
 * Values nested deeper than the transcoder takes need not be written out: one level more makes it
 * refuse the span.
 */
const isTooDeep = (depth: number): boolean => depth > MAX_DEPTH + 1

function elements(to: Parts, value: unknown, depth: number): void {
  if (isTooDeep(depth)) return
  const { values: list } = asObject(value, 'arrayValue')
  const write: Write = (item) => anyValue(to, item, depth)
  objectFields(to, LIST.values, { list, name: 'values', write })
}

function members(to: Parts, value: unknown, depth: number): void {
  if (isTooDeep(depth)) return
  const { values: list } = asObject(value, 'kvlistValue')
  const write: Write = (item) => keyValue(to, item, depth)
  objectFields(to, LIST.values, { list, name: 'values', write })
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

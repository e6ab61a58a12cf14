/**
 * OTLP trace requests as their JSON encoding has them, and an independent encoder of the same to
 * protobuf.
 */

export interface AnyValue {
  stringValue?: string
  boolValue?: boolean
  intValue?: string | number
  doubleValue?: number | string
  arrayValue?: { values: AnyValue[] }
  kvlistValue?: { values: KeyValue[] }
  bytesValue?: string
}
export interface KeyValue {
  key: string
  value?: AnyValue
}
interface OtlpEvent {
  timeUnixNano?: string
  name?: string
  attributes?: KeyValue[]
  droppedAttributesCount?: number
}
interface OtlpLink {
  traceId: string
  spanId: string
  traceState?: string
  attributes?: KeyValue[]
  droppedAttributesCount?: number
  flags?: number
}
export interface OtlpSpan {
  traceId?: string
  spanId?: string
  traceState?: string
  parentSpanId?: string
  name?: string
  kind?: number
  startTimeUnixNano?: string
  endTimeUnixNano?: string
  attributes?: KeyValue[]
  droppedAttributesCount?: number
  events?: OtlpEvent[]
  droppedEventsCount?: number
  links?: OtlpLink[]
  droppedLinksCount?: number
  status?: { message?: string; code?: number }
  flags?: number
}
interface ScopeSpans {
  scope?: {
    name?: string
    version?: string
    attributes?: KeyValue[]
    droppedAttributesCount?: number
  }
  spans?: OtlpSpan[]
  schemaUrl?: string
}
export interface ResourceSpans {
  resource?: { attributes?: KeyValue[]; droppedAttributesCount?: number }
  scopeSpans?: ScopeSpans[]
  schemaUrl?: string
}
export interface TraceRequest {
  resourceSpans?: ResourceSpans[]
}

type Part = Buffer | undefined

export function varint(value: bigint | number): Buffer {
  let rest = BigInt.asUintN(64, BigInt(value))
  const bytes: number[] = []
  do {
    const more = rest > 127n
    bytes.push(Number(rest & 127n) + (more ? 128 : 0))
    rest >>= 7n
  } while (rest > 0n)
  return Buffer.from(bytes)
}

export const field = (number: number, wireType: number, payload: Buffer): Buffer =>
  Buffer.concat([varint((number << 3) | wireType), payload])

export const lengthField = (number: number, payload: Buffer): Buffer =>
  field(number, 2, Buffer.concat([varint(payload.length), payload]))

const message = (...parts: (Part | Part[])[]): Buffer =>
  Buffer.concat(parts.flat().filter((part) => part !== undefined))

const text = (number: number, value: string | undefined): Part =>
  value ? lengthField(number, Buffer.from(value)) : undefined
const hex = (number: number, value: string | undefined): Part =>
  value ? lengthField(number, Buffer.from(value, 'hex')) : undefined
const int = (number: number, value: number | undefined): Part =>
  value ? field(number, 0, varint(value)) : undefined
const list = <Item>(number: number, items: Item[] | undefined, encode: (item: Item) => Buffer) =>
  (items ?? []).map((item) => lengthField(number, encode(item)))

function fixed64(number: number, value: string | undefined): Part {
  if (!value || value === '0') return undefined
  const payload = Buffer.alloc(8)
  payload.writeBigUInt64LE(BigInt(value))
  return field(number, 1, payload)
}
function fixed32(number: number, value: number | undefined): Part {
  if (!value) return undefined
  const payload = Buffer.alloc(4)
  payload.writeUInt32LE(value)
  return field(number, 5, payload)
}
function double(value: number): Buffer {
  const payload = Buffer.alloc(8)
  payload.writeDoubleLE(value)
  return payload
}

function anyValue(value: AnyValue): Buffer {
  if (value.stringValue !== undefined) return lengthField(1, Buffer.from(value.stringValue))
  if (value.boolValue !== undefined) return field(2, 0, varint(value.boolValue ? 1 : 0))
  if (value.intValue !== undefined) return field(3, 0, varint(BigInt(value.intValue)))
  if (value.doubleValue !== undefined) return field(4, 1, double(Number(value.doubleValue)))
  if (value.arrayValue) return lengthField(5, message(list(1, value.arrayValue.values, anyValue)))
  if (value.kvlistValue) return lengthField(6, message(list(1, value.kvlistValue.values, keyValue)))
  if (value.bytesValue !== undefined) {
    return lengthField(7, Buffer.from(value.bytesValue, 'base64'))
  }
  return Buffer.alloc(0)
}

const keyValue = ({ key, value }: KeyValue): Buffer =>
  message(
    lengthField(1, Buffer.from(key)),
    value === undefined ? undefined : lengthField(2, anyValue(value)),
  )

const event = (item: OtlpEvent): Buffer =>
  message(
    fixed64(1, item.timeUnixNano),
    text(2, item.name),
    list(3, item.attributes, keyValue),
    int(4, item.droppedAttributesCount),
  )

const link = (item: OtlpLink): Buffer =>
  message(
    hex(1, item.traceId),
    hex(2, item.spanId),
    text(3, item.traceState),
    list(4, item.attributes, keyValue),
    int(5, item.droppedAttributesCount),
    fixed32(6, item.flags),
  )

export const span = (item: OtlpSpan): Buffer =>
  message(
    hex(1, item.traceId),
    hex(2, item.spanId),
    text(3, item.traceState),
    hex(4, item.parentSpanId),
    text(5, item.name),
    int(6, item.kind),
    fixed64(7, item.startTimeUnixNano),
    fixed64(8, item.endTimeUnixNano),
    list(9, item.attributes, keyValue),
    int(10, item.droppedAttributesCount),
    list(11, item.events, event),
    int(12, item.droppedEventsCount),
    list(13, item.links, link),
    int(14, item.droppedLinksCount),
    item.status && lengthField(15, message(text(2, item.status.message), int(3, item.status.code))),
    fixed32(16, item.flags),
  )

const scopeSpans = (item: ScopeSpans): Buffer =>
  message(
    item.scope &&
      lengthField(
        1,
        message(
          text(1, item.scope.name),
          text(2, item.scope.version),
          list(3, item.scope.attributes, keyValue),
          int(4, item.scope.droppedAttributesCount),
        ),
      ),
    list(2, item.spans, span),
    text(3, item.schemaUrl),
  )

const resourceSpans = (item: ResourceSpans): Buffer =>
  message(
    item.resource &&
      lengthField(
        1,
        message(
          list(1, item.resource.attributes, keyValue),
          int(2, item.resource.droppedAttributesCount),
        ),
      ),
    list(2, item.scopeSpans, scopeSpans),
    text(3, item.schemaUrl),
  )

export const toProtobuf = (request: TraceRequest): Buffer =>
  message(list(1, request.resourceSpans, resourceSpans))

export const toJson = (request: TraceRequest): Buffer => Buffer.from(JSON.stringify(request))

/** One resource, one scope, these spans. */
export const requestOf = (...spans: OtlpSpan[]): TraceRequest => ({
  resourceSpans: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'crew' } }] },
      scopeSpans: [{ scope: { name: 'test', version: '1' }, spans }],
    },
  ],
})

let counter = 0
const idBase = Math.floor(Math.random() * 2 ** 40)

/** Sixteen hexadecimal digits that no other call in this process returns. */
export const freshId = (): string => (idBase * 4096 + ++counter).toString(16).padStart(16, '0')

export const nanos = (ms: number): string => `${BigInt(Math.floor(ms)) * 1_000_000n}`

/** A valid span of 5 ms that started now; what is given replaces its fields. */
export function spanOf(given: OtlpSpan = {}): OtlpSpan {
  const now = Date.now()
  return {
    traceId: freshId() + freshId(),
    spanId: freshId(),
    name: 'work',
    kind: 1,
    startTimeUnixNano: nanos(now),
    endTimeUnixNano: nanos(now + 5),
    ...given,
  }
}

export const textAttribute = (key: string, stringValue: string): KeyValue => ({
  key,
  value: { stringValue },
})

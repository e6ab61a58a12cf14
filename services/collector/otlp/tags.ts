/**
 * The fields of OTLP's protobuf messages (opentelemetry-proto 1.x: `trace`, `common`, `resource`
 * and the collector's `trace_service`; google.rpc `status` and `error_details` for errors), each by
 * its tag: the number that stands before the field on the wire. `npm run assemble` writes the tags
 * of what a request holds to `assembly/constants.ts`.
 */
const tag = (field: number, wireType: number): number => (field << 3) | wireType

/**
 * How a field lies on the wire: the last three bits of its tag. `bytes` has its length before it.
 */
export const WIRE_TYPES = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const

const varint = (field: number): number => tag(field, WIRE_TYPES.varint)
const fixed64 = (field: number): number => tag(field, WIRE_TYPES.fixed64)
const bytes = (field: number): number => tag(field, WIRE_TYPES.bytes)
const fixed32 = (field: number): number => tag(field, WIRE_TYPES.fixed32)

/** The messages within an ExportTraceServiceRequest. */
export const REQUEST_TAGS = {
  request: { resourceSpans: bytes(1) },
  resourceSpans: { resource: bytes(1), scopeSpans: bytes(2), schemaUrl: bytes(3) },
  scopeSpans: { scope: bytes(1), spans: bytes(2), schemaUrl: bytes(3) },
  resource: { attributes: bytes(1), droppedAttributesCount: varint(2) },
  scope: {
    name: bytes(1),
    version: bytes(2),
    attributes: bytes(3),
    droppedAttributesCount: varint(4),
  },
  span: {
    traceId: bytes(1),
    spanId: bytes(2),
    traceState: bytes(3),
    parentSpanId: bytes(4),
    name: bytes(5),
    kind: varint(6),
    startTimeUnixNano: fixed64(7),
    endTimeUnixNano: fixed64(8),
    attributes: bytes(9),
    droppedAttributesCount: varint(10),
    events: bytes(11),
    droppedEventsCount: varint(12),
    links: bytes(13),
    droppedLinksCount: varint(14),
    status: bytes(15),
    flags: fixed32(16),
  },
  status: { message: bytes(2), code: varint(3) },
  event: {
    timeUnixNano: fixed64(1),
    name: bytes(2),
    attributes: bytes(3),
    droppedAttributesCount: varint(4),
  },
  link: {
    traceId: bytes(1),
    spanId: bytes(2),
    traceState: bytes(3),
    attributes: bytes(4),
    droppedAttributesCount: varint(5),
    flags: fixed32(6),
  },
  keyValue: { key: bytes(1), value: bytes(2) },
  anyValue: {
    stringValue: bytes(1),
    boolValue: varint(2),
    intValue: varint(3),
    doubleValue: fixed64(4),
    arrayValue: bytes(5),
    kvlistValue: bytes(6),
    bytesValue: bytes(7),
  },
  /** ArrayValue and KeyValueList alike. */
  list: { values: bytes(1) },
} as const

/**
 * What the rewriter of JSON writes in place of a `stringValue` that may stay in the body: where its
 * content begins and ends there, and its bytes without escapes, each in 32 bits. The transcoder
 * reads it in what the rewriter wrote alone.
 */
export const OWN_TAGS = { anyValue: { jsonText: bytes(15) } } as const

/**
 * The messages within responses: ExportTraceServiceResponse, and google.rpc.Status with a
 * BadRequest or a RetryInfo.
 */
export const ANSWER_TAGS = {
  response: { partialSuccess: bytes(1) },
  partialSuccess: { rejectedSpans: varint(1), errorMessage: bytes(2) },
  status: { code: varint(1), message: bytes(2), details: bytes(3) },
  any: { typeUrl: bytes(1), value: bytes(2) },
  badRequest: { fieldViolations: bytes(1) },
  fieldViolation: { field: bytes(1), description: bytes(2) },
  retryInfo: { retryDelay: bytes(1) },
  duration: { seconds: varint(1) },
} as const

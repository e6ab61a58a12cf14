import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, createHarness, JSON_TYPE } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, requestOf, spanOf, textAttribute, toJson } from './support/otlp.ts'
import { toProtobuf } from './support/otlp.ts'
import type { AnyValue, KeyValue, OtlpSpan, ResourceSpans, TraceRequest } from './support/otlp.ts'
import { anyCharacters } from '../../support/any-characters.ts'

/** Runs of a property; `FUZZ_RUNS=500` is the long form. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 30)

/**
 * One span with all that is around it, as something that can be compared: order of groups and
 * attributes aside.
 */
type FlatSpan = Record<string, unknown>

const attributesOf = (list: KeyValue[] = []): Record<string, unknown> =>
  Object.fromEntries(list.map(({ key, value }) => [key, valueOf(value)]))

/** A double keeps its kind, whatever its digits: 3.0 is no int. */
function valueOf(value: AnyValue = {}): unknown {
  const { intValue, doubleValue, arrayValue, kvlistValue } = value
  if (intValue !== undefined) return { int: String(intValue) }
  if (doubleValue !== undefined) return { double: Number(doubleValue) }
  if (arrayValue) return arrayValue.values.map(valueOf)
  return kvlistValue ? { map: attributesOf(kvlistValue.values) } : value
}

/** What equals its default is the same as what is absent (proto3). */
const withoutDefaults = (item: object): FlatSpan =>
  Object.fromEntries(
    Object.entries(item).filter(
      ([, value]) =>
        ![undefined, 0, '', '0'].includes(value) &&
        !(value && typeof value === 'object' && Object.keys(value).length === 0),
    ),
  )

const normal = ({ attributes, ...rest }: { attributes?: KeyValue[] }): FlatSpan =>
  withoutDefaults({ ...rest, attributes: attributesOf(attributes) })

function normalSpan({ events, links, status, ...span }: OtlpSpan): FlatSpan {
  return withoutDefaults({
    ...normal(span),
    events: (events ?? []).map(normal),
    links: (links ?? []).map(normal),
    status: withoutDefaults(status ?? {}),
  })
}

function flatten({ resourceSpans = [] }: TraceRequest): FlatSpan[] {
  const flat = resourceSpans.flatMap(({ resource = {}, scopeSpans = [], schemaUrl = '' }) =>
    scopeSpans.flatMap(({ scope = {}, spans = [], schemaUrl: scopeUrl = '' }) =>
      spans.map((span) => ({
        resource: { ...normal(resource), schemaUrl },
        scope: { ...normal(scope), schemaUrl: scopeUrl },
        span: normalSpan(span),
      })),
    ),
  )
  return flat.sort((a, b) => (String(a.span['spanId']) < String(b.span['spanId']) ? -1 : 1))
}

/** Text that the database holds as it is: no U+0000 and no half of a surrogate pair. */
const text = anyCharacters(12).map((given) => given.replaceAll('\0', ''))
const largeText = fc
  .tuple(text, fc.integer({ min: 0, max: 300 }))
  .map(([start, size]) => start + 'x'.repeat(size))
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)
/** A double that is no number has no JSON, and jsonb has no minus zero. */
const double = fc.double({ noDefaultInfinity: true, noNaN: true }).filter((x) => !Object.is(x, -0))
const uint32 = fc.nat(2 ** 32 - 1)
const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((array) => Buffer.from(array).toString('hex'))

const { value: anyValue } = fc.letrec<{ value: AnyValue; members: KeyValue[] }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    largeText.map((stringValue) => ({ stringValue })),
    fc.boolean().map((boolValue) => ({ boolValue })),
    int64.map((intValue) => ({ intValue })),
    double.map((doubleValue) => ({ doubleValue })),
    fc
      .uint8Array({ maxLength: 20 })
      .map((bytes) => ({ bytesValue: Buffer.from(bytes).toString('base64') })),
    fc.constant({}),
    fc.array(tie('value'), { maxLength: 4 }).map((values) => ({ arrayValue: { values } })),
    tie('members').map((values) => ({ kvlistValue: { values } })),
  ),
  members: fc.uniqueArray(fc.record({ key: text, value: tie('value') }), {
    maxLength: 4,
    selector: ({ key }) => key,
  }),
}))
const attributes = fc.uniqueArray(fc.record({ key: text, value: anyValue }), {
  maxLength: 6,
  selector: ({ key }) => key,
})

const now = BigInt(Date.now()) * 1_000_000n
/** From a day ago to an hour ahead, to the nanosecond. */
const time = fc
  .bigInt({ min: now - 86_400_000_000_000n, max: now + 3_600_000_000_000n })
  .map(String)
const anyTime = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String)
const event = fc.record(
  { timeUnixNano: anyTime, name: text, attributes, droppedAttributesCount: uint32 },
  { requiredKeys: [] },
)
const link = fc.record(
  {
    traceId: hex(16),
    spanId: hex(8),
    traceState: text,
    attributes,
    droppedAttributesCount: uint32,
    flags: uint32,
  },
  { requiredKeys: ['traceId', 'spanId'] },
)
const span = fc.record<OtlpSpan>(
  {
    parentSpanId: hex(8).filter((id) => !/^0+$/.test(id)),
    traceState: text,
    name: text,
    kind: fc.nat(5),
    startTimeUnixNano: time,
    endTimeUnixNano: anyTime,
    attributes,
    droppedAttributesCount: uint32,
    events: fc.array(event, { maxLength: 3 }),
    droppedEventsCount: uint32,
    links: fc.array(link, { maxLength: 3 }),
    droppedLinksCount: uint32,
    status: fc.record({ code: fc.nat(2), message: text }, { requiredKeys: [] }),
    flags: uint32,
  },
  { requiredKeys: ['startTimeUnixNano'] },
)
const scope = fc.record(
  { name: text, version: text, attributes, droppedAttributesCount: uint32 },
  { requiredKeys: [] },
)
const resource = fc.record({ attributes, droppedAttributesCount: uint32 }, { requiredKeys: [] })
const resourceSpans = fc.record<ResourceSpans>(
  {
    resource,
    schemaUrl: text,
    scopeSpans: fc.array(
      fc.record(
        { scope, schemaUrl: text, spans: fc.array(span, { maxLength: 3 }) },
        { requiredKeys: [] },
      ),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: [] },
)

/** All spans in one trace, each with an id of its own. */
function inTrace(groups: ResourceSpans[], traceId: string): TraceRequest {
  return {
    resourceSpans: groups.map(({ scopeSpans = [], ...group }) => ({
      ...group,
      scopeSpans: scopeSpans.map(({ spans = [], ...scoped }) => ({
        ...scoped,
        spans: spans.map((each) => ({ ...each, traceId, spanId: freshId() })),
      })),
    })),
  }
}

describe('a trace that is read back', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const read = async (traceId: string): Promise<Response> =>
    fetch(`${harness.collector.url}/api/traces/${traceId}`, {
      headers: { authorization: await bearer() },
    })
  const readRequest = async (traceId: string): Promise<TraceRequest> =>
    (await (await read(traceId)).json()) as TraceRequest

  it('equals what was sent, in both encodings', async () => {
    const traces = fc.array(resourceSpans, { minLength: 1, maxLength: 3 })
    const property = fc.asyncProperty(traces, fc.boolean(), async (groups, isJson) => {
      const traceId = freshId() + freshId()
      const sent = inTrace(groups, traceId)
      const expected = flatten(sent)
      const body = isJson ? toJson(sent) : toProtobuf(sent)
      const type: Record<string, string> = isJson ? { 'content-type': JSON_TYPE } : {}
      const answer = await harness.post(body, type)
      expect(await answer.text()).toBe(isJson ? '{}' : '')
      if (expected.length === 0) expect((await read(traceId)).status).toBe(404)
      else expect(flatten(await readRequest(traceId))).toEqual(expected)
    })
    await fc.assert(property, { numRuns: RUNS })
  })

  it('can be sent again, and is the same then', async () => {
    const traceId = freshId() + freshId()
    const parent = spanOf({ traceId, events: [{ name: 'began', timeUnixNano: nanos(1) }] })
    const child = spanOf({
      traceId,
      parentSpanId: parent.spanId ?? '',
      attributes: [{ key: 'n', value: { intValue: '9223372036854775807' } }],
    })
    await harness.post(toProtobuf(requestOf(parent, child)))
    const before = await (await read(traceId)).text()
    const answer = await harness.post(before, { 'content-type': JSON_TYPE })
    expect(await answer.text()).toBe('{}')
    expect(await (await read(traceId)).text()).toBe(before)
  })

  it('has groups of one resource and scope each, in the order of their first spans', async () => {
    const traceId = freshId() + freshId()
    const at = (ms: number) => nanos(Date.now() + ms)
    const group = (name: string, ...starts: number[]): ResourceSpans => ({
      resource: { attributes: [textAttribute('service.name', name)] },
      scopeSpans: [
        {
          scope: { name },
          spans: starts.map((ms) =>
            spanOf({ traceId, name: `${name} ${ms}`, startTimeUnixNano: at(ms) }),
          ),
        },
      ],
    })
    const groups = [group('worker', 30, 10), group('web', 0), group('worker', 20)]
    await harness.post(toProtobuf({ resourceSpans: groups }))
    const { resourceSpans: found = [] } = await readRequest(traceId)
    const names = found.map(({ scopeSpans = [] }) =>
      scopeSpans.map(({ spans = [] }) => spans.map(({ name }) => name)),
    )
    expect(names).toEqual([[['web 0']], [['worker 10', 'worker 20', 'worker 30']]])
  })

  it('shows a double that is no number as the text it is stored as', async () => {
    const made = spanOf({ attributes: [{ key: 'score', value: { doubleValue: 'NaN' } }] })
    await harness.post(toJson(requestOf(made)), { 'content-type': JSON_TYPE })
    const [stored] = flatten(await readRequest(made.traceId ?? ''))
    expect(stored?.['span']).toMatchObject({ attributes: { score: { stringValue: 'NaN' } } })
  })

  it('comes in many pieces when it is large, and is whole', async () => {
    const traceId = freshId() + freshId()
    const spans = Array.from({ length: 700 }, (_, i) =>
      spanOf({ traceId, attributes: [textAttribute('prompt', 'x'.repeat(i * 20))] }),
    )
    const sent = requestOf(...spans)
    await harness.post(toProtobuf(sent))
    const response = await read(traceId)
    expect(response.headers.get('trace-truncated')).toBe('false')
    expect(flatten((await response.json()) as TraceRequest)).toEqual(flatten(sent))
  })
})

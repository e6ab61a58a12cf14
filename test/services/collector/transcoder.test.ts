import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMemory } from '../../../services/collector/otlp/memory.ts'
import type { Allocator } from '../../../services/collector/otlp/memory.ts'
import { createRowBuffer, releaseRows } from '../../../services/collector/otlp/row-buffer.ts'
import { createTranscoder } from '../../../services/collector/otlp/transcode.ts'
import type { Transcode } from '../../../services/collector/otlp/transcode.ts'
import { createOracle } from './oracle/transcode.ts'
import { takeCopy } from './support/memory.ts'
import { lengthField, requestOf, span, spanOf, toProtobuf } from './support/otlp.ts'
import type { AnyValue, KeyValue, OtlpSpan } from './support/otlp.ts'

/** Runs of a property; `FUZZ_RUNS=500` is the long form. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 100)
const UNTOUCHED = 0xa5
const GUARD_BYTES = 64

const PROMOTED = ['crew_id', 'task_name', 'agent_role', 'tool_name', 'user.id', 'error.type']

// What takes the most room in a row for what it takes in a message.
const worstText = fc
  .integer({ min: 0, max: 600 })
  .map((length): AnyValue => ({ stringValue: '\u0001'.repeat(length) }))
const worstValue: fc.Arbitrary<AnyValue> = fc.oneof(
  worstText,
  fc.constant({ boolValue: false }),
  fc.constant({ doubleValue: -1.234567890123456e-300 }),
  fc.constant({ intValue: String(-(2n ** 63n)) }),
  fc
    .array(fc.constantFrom<AnyValue>({ boolValue: false }, { doubleValue: -5e-324 }))
    .map((values) => ({ arrayValue: { values } })),
)
const worstAttribute: fc.Arbitrary<KeyValue> = fc.oneof(
  fc.record({ key: fc.constantFrom(...PROMOTED), value: worstText }),
  fc.record({
    key: fc.integer({ min: 0, max: 40 }).map((length) => '\u0002'.repeat(length)),
    value: worstValue,
  }),
)
const worstAttributes = fc.uniqueArray(worstAttribute, {
  selector: ({ key }) => key,
  maxLength: 60,
})
const linkId = fc.constantFrom('', '01'.repeat(8), '01'.repeat(16), '01'.repeat(40))
const worstSpan: fc.Arbitrary<OtlpSpan> = fc.record({
  attributes: worstAttributes,
  events: fc.array(fc.record({ attributes: worstAttributes }), { maxLength: 3 }),
  links: fc.array(fc.record({ traceId: linkId, spanId: linkId }), { maxLength: 3 }),
})

// Around each number that decides where a value goes, and how it is written.
const nearText = fc
  .tuple(fc.constantFrom(0, 16, 20, 48, 250, 256, 508, 512), fc.nat(8), fc.constantFrom('a', 'é"'))
  .map(([size, more, unit]): AnyValue => ({ stringValue: unit.repeat(size + more) }))
const longText = fc
  .tuple(fc.integer({ min: -2, max: 2 }), fc.constantFrom('a', 'é', '€', '\u0000', '"'))
  .map(([more, unit]): AnyValue => ({ stringValue: unit.repeat(2 ** 18 / unit.length + more) }))
const nearNumber = fc.constantFrom<AnyValue>(
  ...[-1n, 0n, 7n, 127n, 128n, 2n ** 53n - 1n, 2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n].map(
    (value): AnyValue => ({ intValue: `${value}` }),
  ),
  ...[0, 3, -3, 0.5, 2 ** 53, 1e300].map((doubleValue): AnyValue => ({ doubleValue })),
  ...['NaN', '-Infinity', '-0'].map((doubleValue): AnyValue => ({ doubleValue })),
  ...['7', '0.25', '1e3', '-1', '9'.repeat(40)].map((stringValue): AnyValue => ({ stringValue })),
)
const nearValue: fc.Arbitrary<AnyValue> = fc.oneof(
  nearText,
  nearNumber,
  fc.boolean().map((boolValue) => ({ boolValue })),
  fc.constant({ bytesValue: 'AAEC' }),
  fc.integer({ min: 30, max: 34 }).map(nested),
  fc
    .array(fc.oneof(nearNumber, nearText), { maxLength: 3 })
    .map((values) => ({ arrayValue: { values } })),
)
function nested(depth: number): AnyValue {
  const value = depth === 0 ? { boolValue: true } : nested(depth - 1)
  const isMap = depth % 2 === 0
  return isMap
    ? { kvlistValue: { values: [{ key: 'k', value }] } }
    : { arrayValue: { values: [value] } }
}
const NEAR_KEYS = [
  ...PROMOTED,
  'gen_ai.operation.name',
  'llm.model_name',
  'gen_ai.request.model',
  'mlflow.llm.model',
  'traceloop.entity.name',
]
const word = fc
  .constantFrom('chat', 'EMBEDDINGS', 'execute_tool', 'invoke_agent', 'TASK', 'x', '"LLM"', '')
  .map((stringValue): AnyValue => ({ stringValue }))
const member = fc.oneof(
  fc.constantFrom(0, 7, -1, 1.5, 2 ** 53, 1e300, null, 'x', true, {}, { cached_tokens: 3 }),
  fc.nat(),
)
const usage = fc
  .dictionary(
    fc.constantFrom('input', 'prompt_tokens', 'input_cached_tokens', 'prompt_tokens_details'),
    member,
  )
  .map((value): AnyValue => ({ stringValue: JSON.stringify(value) }))
const WORD_KEYS = ['gen_ai.operation.name', 'traceloop.span.kind', 'mlflow.spanType']
const conventionAttribute: fc.Arbitrary<KeyValue> = fc.oneof(
  fc.record({ key: fc.constantFrom(...WORD_KEYS), value: word }),
  fc.record({ key: fc.constant('langfuse.observation.usage_details'), value: usage }),
)
const nearAttribute: fc.Arbitrary<KeyValue> = fc.record({
  key: fc.constantFrom(...NEAR_KEYS, 'gen_ai.usage.input_tokens', 'llm.cost.total', 'a', ''),
  value: fc.oneof({ weight: 60, arbitrary: nearValue }, { weight: 1, arbitrary: longText }),
})
const nearAttributes = fc.array(
  fc.oneof({ weight: 3, arbitrary: nearAttribute }, { weight: 1, arbitrary: conventionAttribute }),
  { maxLength: 8 },
)
const nearSpan: fc.Arbitrary<OtlpSpan> = fc.record({
  kind: fc.constantFrom(0, 1, 32_767, 32_768),
  flags: fc.constantFrom(0, 1, 2 ** 32 - 1),
  droppedAttributesCount: fc.constantFrom(0, 5, 2 ** 32 - 1),
  name: fc.constantFrom('', 'step', 'é'.repeat(20), '\u0000'),
  traceId: fc.constantFrom('', '00'.repeat(16), '01'.repeat(15), '01'.repeat(16)),
  parentSpanId: fc.constantFrom('', '00'.repeat(8), '0102030405060708'),
  attributes: nearAttributes,
  events: fc.array(fc.record({ name: fc.constantFrom('', 'e'), attributes: nearAttributes }), {
    maxLength: 2,
  }),
  links: fc.array(
    fc.record({
      traceId: linkId,
      spanId: linkId,
      flags: fc.constantFrom(0, 1),
      droppedAttributesCount: fc.constantFrom(0, 7),
      attributes: nearAttributes,
    }),
    { maxLength: 2 },
  ),
})

const ALWAYS = { oldest: -(2 ** 53), newest: 2 ** 53, organization: 'Zürich' }

const memory = createMemory(32 << 20)

/** What a request becomes, with rows that begin in a buffer of `size` bytes. */
function readBy(transcode: Transcode, body: Buffer, size: number) {
  const given = takeCopy(memory, body)
  const buffer = createRowBuffer(takeCopy(memory, Buffer.alloc(size)), memory)
  try {
    const transcript = transcode(given, buffer, ALWAYS)
    const identities = [...buffer.identities].map(({ id, document }) => `${id} ${document}`)
    const rows = buffer.bytes.toString('hex', 0, buffer.end)
    return { transcript, rows, identities }
  } catch (error) {
    return String(error)
  } finally {
    memory.give(given)
    releaseRows(buffer)
  }
}

describe('the transcoder', () => {
  const transcode = createTranscoder(memory)
  const oracle = createOracle()

  it('writes the bytes that the oracle writes, wherever the rows have to move', () => {
    const sizes = fc.constantFrom(64, 300, 1000, 64 * 1024)
    fc.assert(
      fc.property(nearSpan, sizes, (fields, size) => {
        const body = toProtobuf(requestOf(spanOf(), spanOf(fields)))
        const read = readBy(transcode, body, size)
        expect(read).toEqual(readBy(oracle, body, size))
        expect(memory.used()).toBe(0)
      }),
      { numRuns: RUNS },
    )
  }, 180_000)

  it('reads a request that is cut off anywhere as the oracle does', () => {
    const attributes = [{ key: 'crew_id', value: { stringValue: 'a'.repeat(200) } }]
    const events = [{ name: 'e', timeUnixNano: '1', attributes }]
    const links = [{ traceId: '01'.repeat(16), spanId: '02'.repeat(8), flags: 3, attributes }]
    const body = toProtobuf(requestOf(spanOf({ attributes, events, links, flags: 1 })))
    for (let end = 0; end <= body.length; end++) {
      const cut = lengthField(1, body.subarray(body.length - end))
      for (const one of [body.subarray(0, end), cut]) {
        expect(readBy(transcode, one, 64)).toEqual(readBy(oracle, one, 64))
      }
    }
  })

  it('takes what only the rewriter of JSON writes for an unknown field', () => {
    const pointer = Buffer.alloc(12, 1)
    const value = lengthField(2, lengthField(15, pointer))
    for (const key of ['a', 'gen_ai.operation.name', 'crew_id']) {
      const attribute = lengthField(9, Buffer.concat([lengthField(1, Buffer.from(key)), value]))
      const message = lengthField(2, Buffer.concat([span(spanOf()), attribute]))
      const body = lengthField(1, lengthField(2, message))
      expect(readBy(transcode, body, 64)).toEqual(readBy(oracle, body, 64))
    }
  })

  it('writes nothing beyond the room that it has asked for', () => {
    fc.assert(
      fc.property(worstSpan, fc.integer({ min: 64, max: 4096 }), (fields, size) => {
        const body = toProtobuf(requestOf(spanOf(fields)))
        const lent: Buffer[] = []
        const guarded: Allocator = {
          ...memory,
          take(bytes) {
            const whole = memory.take(bytes + GUARD_BYTES)?.fill(UNTOUCHED)
            if (whole) lent.push(whole)
            return whole?.subarray(0, bytes)
          },
          give: () => {},
        }
        const given = takeCopy(memory, body)
        transcode(given, createRowBuffer(takeCopy(guarded, Buffer.alloc(size)), guarded), ALWAYS)
        const beyond = lent.map((whole) => whole.subarray(-GUARD_BYTES))
        expect(beyond.every((end) => end.every((byte) => byte === UNTOUCHED))).toBe(true)
        for (const held of [given, ...lent]) memory.give(held)
      }),
    )
  })

  it('reads only what lies in its memory', () => {
    const foreign = toProtobuf(requestOf(spanOf()))
    const target = createRowBuffer(Buffer.alloc(0))
    expect(() => transcode(foreign, target, ALWAYS)).toThrow('in the memory of the transcoder')
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createAccelerator,
  RESERVED_BYTES,
  rowBytesMax,
  SPARE_BYTES,
} from '../../../services/collector/otlp/accelerator.ts'
import { createSpans } from '../../bench/support/requests.ts'
import { createMemory } from '../../../services/collector/memory.ts'
import { createRowBuffer } from '../../../services/collector/otlp/row-buffer.ts'
import { createTranscoder } from '../../../services/collector/otlp/transcode.ts'
import { requestOf, span, spanOf, toProtobuf } from './support/otlp.ts'
import type { Memory } from '../../../services/collector/memory.ts'
import type { AnyValue, KeyValue, OtlpSpan } from './support/otlp.ts'

const MEMORY_BYTES = 1 << 20
const FROM = RESERVED_BYTES
const TO = FROM + (MEMORY_BYTES >> 1)
const UNTOUCHED = 0xa5

/** The bytes that the row of a span takes, 0 when it is not an ordinary one; and how far was written. */
function createWriter() {
  const accelerator = createAccelerator(MEMORY_BYTES)
  accelerator.setWindow(-(2 ** 53), 2 ** 53)
  const memory = Buffer.from(accelerator.block)
  return (one: OtlpSpan) => {
    const message = span(one)
    message.copy(memory, FROM)
    memory.fill(UNTOUCHED, TO)
    const end = accelerator.writeSpan(FROM, FROM + message.length, TO)
    const allowed = TO + rowBytesMax(message.length) + SPARE_BYTES
    const isWithin = memory.subarray(allowed).every((byte) => byte === UNTOUCHED)
    return { size: message.length, row: end === 0 ? 0 : end - TO, isWithin }
  }
}

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

// Around each number that decides where a value goes, and how it is written.
const nearText = fc
  .tuple(fc.constantFrom(0, 16, 20, 48, 250, 256, 508, 512), fc.nat(8), fc.constantFrom('a', 'é"'))
  .map(([size, more, unit]): AnyValue => ({ stringValue: unit.repeat(size + more) }))
const nearNumber = fc.constantFrom<AnyValue>(
  ...[-1n, 0n, 7n, 127n, 128n, 2n ** 53n - 1n, 2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n].map(
    (value): AnyValue => ({ intValue: `${value}` }),
  ),
  ...[0, 3, -3, 0.5, 2 ** 53, 1e300].map((doubleValue): AnyValue => ({ doubleValue })),
  ...['NaN', '-Infinity', '-0'].map((doubleValue): AnyValue => ({ doubleValue })),
)
const nearValue: fc.Arbitrary<AnyValue> = fc.oneof(
  nearText,
  nearNumber,
  fc.boolean().map((boolValue) => ({ boolValue })),
  fc
    .array(fc.oneof(nearNumber, nearText), { maxLength: 3 })
    .map((values) => ({ arrayValue: { values } })),
)
const NEAR_KEYS = [...PROMOTED, 'gen_ai.operation.name', 'llm.model_name', 'gen_ai.request.model']
const nearSpan: fc.Arbitrary<OtlpSpan> = fc.record({
  kind: fc.constantFrom(0, 1, 32_767, 32_768),
  flags: fc.constantFrom(0, 1, 2 ** 32 - 1),
  droppedAttributesCount: fc.constantFrom(0, 5, 2 ** 32 - 1),
  name: fc.constantFrom('', 'step', 'é'.repeat(20)),
  parentSpanId: fc.constantFrom('', '00'.repeat(8), '0102030405060708'),
  attributes: fc.array(
    fc.record({
      key: fc.constantFrom(...NEAR_KEYS, 'gen_ai.usage.input_tokens', 'llm.cost.total', 'a', ''),
      value: nearValue,
    }),
    { maxLength: 8 },
  ),
})

const ALWAYS = { oldest: -(2 ** 53), newest: 2 ** 53 }

/** What a request becomes, in memory that the accelerator shares or does not. */
function rowsOf(body: Buffer, memory: Memory, isAccelerated: boolean) {
  const given = memory.take(body.length) ?? Buffer.alloc(0)
  body.copy(given)
  const buffer = createRowBuffer(memory.take(64 * 1024) ?? Buffer.alloc(0), memory)
  const transcode = createTranscoder(isAccelerated ? memory.accelerator : undefined)
  const transcript = transcode(given, buffer, ALWAYS)
  const rows = buffer.bytes.toString('hex', 0, buffer.end)
  for (const held of [given, buffer.bytes]) memory.give(held)
  return { transcript, rows }
}

describe('the accelerator', () => {
  const write = createWriter()

  it('takes the spans that most are, and leaves to the plain way what is rare', () => {
    for (const one of createSpans('light', { spans: 50, seed: 1, nowMs: Date.now() })) {
      expect(write(one).row).toBeGreaterThan(0)
    }
    for (const one of createSpans('llm', { spans: 50, seed: 1, nowMs: Date.now() })) {
      expect(write(one).row > 0).toBe(one.events?.length === 0)
    }
    expect(write(spanOf({ traceId: '00'.repeat(16) })).row).toBe(0)
  })

  it('never needs more room than it says', () => {
    fc.assert(
      fc.property(worstAttributes, (attributes) => {
        const { size, row, isWithin } = write(spanOf({ attributes }))
        expect(row).toBeGreaterThan(0)
        expect(row).toBeLessThanOrEqual(rowBytesMax(size))
        expect(isWithin).toBe(true)
      }),
    )
  })
  it('writes the bytes that the plain way writes', () => {
    const memory = createMemory(1 << 20)
    fc.assert(
      fc.property(nearSpan, (fields) => {
        const body = toProtobuf(requestOf(spanOf(fields)))
        expect(rowsOf(body, memory, true)).toEqual(rowsOf(body, memory, false))
      }),
      { numRuns: 1000 },
    )
  })
})

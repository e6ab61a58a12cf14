import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createAccelerator,
  RESERVED_BYTES,
  rowBytesMax,
  SPARE_BYTES,
} from '../../../services/collector/otlp/accelerator.ts'
import { createSpans } from '../../bench/support/requests.ts'
import { span, spanOf } from './support/otlp.ts'
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
})

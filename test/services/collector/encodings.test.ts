import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMemory } from '../../../services/collector/otlp/memory.ts'
import type { Encoding } from '../../../services/collector/otlp/answer.ts'
import { createRowBuffer, releaseRows } from '../../../services/collector/otlp/row-buffer.ts'
import { createTranscoder } from '../../../services/collector/otlp/transcode.ts'
import { AppError } from '../../../services/shared/errors.ts'
import { createHarness, JSON_TYPE } from './support/harness.ts'
import { takeCopy } from './support/memory.ts'
import { nanos, requestOf, spanOf, textAttribute, toJson, toProtobuf } from './support/otlp.ts'
import type { AnyValue, KeyValue, OtlpSpan, TraceRequest } from './support/otlp.ts'
import { anyCharacters } from '../../support/any-characters.ts'

/** Runs of a property; `FUZZ_RUNS=2000` is the long form. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 60)
const ALWAYS = { oldest: -(2 ** 53), newest: 2 ** 53 }

const memory = createMemory(4 << 20)
const transcode = createTranscoder(memory)

/** The rows of a body, the identities they refer to, and what was refused. */
function rowsOf(body: Buffer, encoding: Encoding) {
  const given = takeCopy(memory, body)
  // So small that it has to grow.
  const buffer = createRowBuffer(takeCopy(memory, Buffer.alloc(16)), memory)
  const transcript = transcode(given, buffer, { ...ALWAYS, encoding })
  memory.give(given)
  releaseRows(buffer)
  const rows = buffer.bytes.subarray(0, buffer.end).toString('latin1')
  const identities = [...buffer.identities].map(({ id, document }) => `${id} ${document}`)
  return { transcript, rows, identities, offsets: [...buffer.offsets.subarray(0, buffer.rows)] }
}

// Any UTF-16 code units: controls, quotes, lone surrogates.
const anyText = fc.oneof(
  anyCharacters(20),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 10 })
    .map((codes) => String.fromCharCode(...codes)),
  fc.string({ minLength: 250, maxLength: 300 }),
  // Around the length from which texts in JSON are not copied.
  fc.string({ minLength: 340, maxLength: 345 }).map((part) => `${part}"\n`.repeat(3)),
)
const keys = fc.oneof(
  anyText,
  fc.constantFrom(
    'gen_ai.operation.name',
    'llm.token_count.prompt',
    'llm.cost.total',
    'crew_id',
    'a',
  ),
)
const hexId = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((id) => Buffer.from(id).toString('hex'))
const uint32 = fc.integer({ min: 0, max: 0xffffffff })

const { value } = fc.letrec<{ value: AnyValue; attribute: KeyValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    anyText.map((stringValue) => ({ stringValue })),
    fc.boolean().map((boolValue) => ({ boolValue })),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((int) => ({ intValue: `${int}` })),
    fc.double().map((double) => ({
      doubleValue: Number.isFinite(double) && !Object.is(double, -0) ? double : String(double),
    })),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => ({
      bytesValue: Buffer.from(bytes).toString('base64'),
    })),
    fc.array(tie('value'), { maxLength: 3 }).map((values) => ({ arrayValue: { values } })),
    fc.array(tie('attribute'), { maxLength: 3 }).map((values) => ({ kvlistValue: { values } })),
    fc.constant({}),
  ),
  attribute: fc.record({ key: keys, value: tie('value') }, { requiredKeys: ['key'] }),
}))
const attributes = fc.array(fc.record({ key: keys, value }), { maxLength: 6 })
const time = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }).map(String)

const anySpan: fc.Arbitrary<OtlpSpan> = fc.record(
  {
    traceId: hexId(16),
    spanId: hexId(8),
    parentSpanId: hexId(8),
    traceState: anyText,
    name: anyText,
    kind: fc.integer({ min: 0, max: 5 }),
    startTimeUnixNano: time,
    endTimeUnixNano: time,
    attributes,
    droppedAttributesCount: uint32,
    events: fc.array(
      fc.record({ timeUnixNano: time, name: anyText, attributes, droppedAttributesCount: uint32 }),
      { maxLength: 2 },
    ),
    droppedEventsCount: uint32,
    links: fc.array(
      fc.record({
        traceId: hexId(16),
        spanId: hexId(8),
        traceState: anyText,
        attributes,
        flags: uint32,
      }),
      { maxLength: 2 },
    ),
    droppedLinksCount: uint32,
    status: fc.record({ message: anyText, code: fc.integer({ min: 0, max: 2 }) }),
    flags: uint32,
  },
  { requiredKeys: ['traceId', 'spanId', 'startTimeUnixNano'] },
)
const anyRequest: fc.Arbitrary<TraceRequest> = fc.record({
  resourceSpans: fc.array(
    fc.record({
      resource: fc.record({ attributes, droppedAttributesCount: uint32 }),
      schemaUrl: anyText,
      scopeSpans: fc.array(
        fc.record({
          scope: fc.record({ name: anyText, version: anyText, attributes }),
          spans: fc.array(anySpan, { maxLength: 3 }),
          schemaUrl: anyText,
        }),
        { maxLength: 2 },
      ),
    }),
    { minLength: 1, maxLength: 2 },
  ),
})

describe('the two encodings of OTLP (SPEC 4.6)', () => {
  it('give the same rows for the same spans', () => {
    fc.assert(
      fc.property(anyRequest, (request) => {
        const fromProtobuf = rowsOf(toProtobuf(request), 'protobuf')
        expect(rowsOf(toJson(request), 'json')).toEqual(fromProtobuf)
      }),
      { numRuns: Math.ceil(RUNS / 5) },
    )
  })

  it('give the same tables for the same requests', async () => {
    const [first, second] = await Promise.all([createHarness(), createHarness()])
    const requests = fc.sample(anyRequest, { numRuns: 40, seed: 7 })
    const now = Date.now()
    for (const { resourceSpans = [] } of requests) {
      for (const { scopeSpans = [] } of resourceSpans) {
        for (const span of scopeSpans.flatMap(({ spans = [] }) => spans)) {
          span.startTimeUnixNano = nanos(now - Math.floor(Math.random() * 86_400_000))
        }
      }
      const answers = await Promise.all([
        first.post(toProtobuf({ resourceSpans })),
        second.post(toJson({ resourceSpans }), { 'content-type': JSON_TYPE }),
      ])
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
    }
    const tables = [first, second].map(async ({ sql }) => ({
      spans: await sql`select * from spans order by start_time, trace_id, span_id`,
      resources: await sql`select * from resources order by id`,
      scopes: await sql`select * from scopes order by id`,
      rejects: await sql`select * from span_rejects`,
    }))
    const [left, right] = await Promise.all(tables)
    expect(left?.spans.length).toBeGreaterThan(30)
    expect(left?.rejects).toEqual([])
    expect(right).toEqual(left)
    await Promise.all([first.stop(), second.stop()])
  })
})

describe('reading damaged requests', () => {
  const sample = toProtobuf(
    requestOf(
      ...Array.from({ length: 3 }, () =>
        spanOf({
          attributes: [textAttribute('gen_ai.system', 'x'), textAttribute('long', 'y'.repeat(300))],
          events: [{ name: 'e', attributes: [textAttribute('k', 'v')] }],
          links: [{ traceId: '01'.repeat(16), spanId: '02'.repeat(8) }],
          status: { code: 1 },
        }),
      ),
    ),
  )

  it('never does more than refuse them, and leaves the rows before as they were', () => {
    const whole = takeCopy(memory, sample)
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(sample.length - 1), fc.nat(255)), { maxLength: 4 }),
        fc.nat(sample.length),
        (changes, end) => {
          const body = takeCopy(memory, sample.subarray(0, end))
          for (const [at, byte] of changes) if (at < end) body[at] = byte
          const buffer = createRowBuffer(takeCopy(memory, Buffer.alloc(16)), memory)
          transcode(whole, buffer, ALWAYS)
          const before = { rows: buffer.rows, end: buffer.end }
          try {
            const { rows } = transcode(body, buffer, ALWAYS)
            expect(buffer.rows).toBe(before.rows + rows)
          } catch (error) {
            expect(error).toBeInstanceOf(AppError)
            expect(buffer).toMatchObject(before)
          } finally {
            memory.give(body)
            releaseRows(buffer)
          }
        },
      ),
      { numRuns: RUNS },
    )
  })

  it('never gives the database a row that it refuses', async () => {
    const harness = await createHarness()
    const bodies = Array.from({ length: 150 }, (_, i) => {
      const body = Buffer.from(sample)
      for (let k = 0; k <= i % 3; k++) {
        body[Math.floor(Math.random() * body.length)] = Math.floor(Math.random() * 256)
      }
      return body
    })
    const answers = await Promise.all(bodies.map((body) => harness.post(body)))
    for (const { status } of answers) expect([200, 400]).toContain(status)
    expect(await harness.sql`select reason, encode(row_bytes, 'hex') from span_rejects`).toEqual([])
    await harness.stop()
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AppError } from '../../../services/shared/errors.ts'
import { jsonRequestToProtobuf } from '../../../services/collector/otlp/json-request.ts'
import { createRowBuffer } from '../../../services/collector/otlp/row-buffer.ts'
import { createTranscoder } from '../../../services/collector/otlp/transcode.ts'
import { createRandom, createSpans } from '../../bench/support/requests.ts'
import { createHarness, JSON_TYPE, PROTOBUF } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { requestOf, toJson, toProtobuf } from './support/otlp.ts'
import type { TraceRequest } from './support/otlp.ts'

/** `FUZZ_RUNS=100000 npx vitest run test/services/collector/fuzz.test.ts` is the long form. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 2000)
const SEED = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
/** Of the runs, this many go all the way to the database. */
const SHARE_END_TO_END = 0.1
const ALWAYS = { oldest: -(2 ** 53), newest: 2 ** 53 }
const SLOW_MS = 2000

const samples: TraceRequest[] = [
  requestOf(...createSpans('llm', { spans: 3, seed: 1, nowMs: Date.now() })),
  requestOf(...createSpans('light', { spans: 9, seed: 2, nowMs: Date.now() })),
]

type Random = () => number
const below = (random: Random, limit: number): number => Math.floor(random() * limit)

const WORDS = [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0xffffffff]

/** One of the ways in which bytes get damaged. */
const DAMAGES: readonly ((body: Buffer, random: Random) => Buffer)[] = [
  function flipBit(body, random) {
    const at = below(random, body.length)
    body[at] = (body[at] ?? 0) ^ (1 << below(random, 8))
    return body
  },
  function replaceByte(body, random) {
    body[below(random, body.length)] = below(random, 256)
    return body
  },
  function replaceWord(body, random) {
    if (body.length > 4) {
      body.writeUInt32LE(WORDS[below(random, WORDS.length)] ?? 0, below(random, body.length - 4))
    }
    return body
  },
  (body, random) => body.subarray(0, below(random, body.length)),
  function cutOut(body, random) {
    const from = below(random, body.length)
    return Buffer.concat([body.subarray(0, from), body.subarray(from + below(random, 40))])
  },
  function repeat(body, random) {
    const from = below(random, body.length)
    const end = from + below(random, 400)
    return Buffer.concat([body.subarray(0, end), body.subarray(from)])
  },
  function swap(body, random) {
    const from = below(random, body.length)
    const part = body.subarray(from, from + 30)
    body.copy(body, from, below(random, body.length), Math.min(body.length, from + 30))
    return Buffer.concat([body, part])
  },
]

function damage(sample: Buffer, random: Random): Buffer {
  let body: Buffer = Buffer.from(sample)
  for (let left = 1 + below(random, 4); left > 0 && body.length > 0; left--) {
    const way = DAMAGES[below(random, DAMAGES.length)]
    if (way) body = way(body, random)
  }
  return body
}

describe(`${RUNS} damaged requests (seed ${SEED})`, () => {
  it('are refused, or read to rows that are counted; never more, and never slowly', () => {
    const transcode = createTranscoder()
    const encoded = samples.flatMap((sample) => [toProtobuf(sample), toJson(sample)])
    const random = createRandom(SEED)
    let read = 0
    for (let run = 0; run < RUNS; run++) {
      const place = run % encoded.length
      const body = damage(encoded[place] ?? Buffer.alloc(0), random)
      const buffer = createRowBuffer(Buffer.alloc(64))
      const started = performance.now()
      try {
        const protobuf = place % 2 === 1 ? jsonRequestToProtobuf(body) : body
        const { spans, rows, refused } = transcode(protobuf, buffer, ALWAYS)
        const refusals = [...refused.values()].reduce((sum, count) => sum + count, 0)
        expect([buffer.rows, rows + refusals], `run ${run}`).toEqual([rows, spans])
        read++
      } catch (error) {
        expect(error, `run ${run}`).toBeInstanceOf(AppError)
        expect([buffer.rows, buffer.end], `run ${run}`).toEqual([0, 0])
      }
      expect(performance.now() - started, `run ${run}`).toBeLessThan(SLOW_MS)
    }
    expect(read).toBeGreaterThan(RUNS / 20)
  }, 3_600_000)

  describe('on their way to the database', () => {
    let harness: Harness
    beforeAll(async () => {
      harness = await createHarness()
    })
    afterAll(() => harness.stop())

    const total = (name: string, labels?: Record<string, string>): Promise<number> =>
      harness.metric(`collector_${name}`, labels)

    it('are answered 200 or 400; the database refuses none; every span is accounted for', async () => {
      const random = createRandom(SEED + 1)
      const statuses = new Set<number>()
      const bodies = samples.flatMap((sample) => [
        [toProtobuf(sample), PROTOBUF] as const,
        [toJson(sample), JSON_TYPE] as const,
      ])
      let left = Math.ceil(RUNS * SHARE_END_TO_END)
      const client = async (): Promise<void> => {
        while (left-- > 0) {
          const [sample, type] = bodies[left % bodies.length] ?? [Buffer.alloc(0), PROTOBUF]
          const response = await harness.post(damage(sample, random), { 'content-type': type })
          statuses.add(response.status)
        }
      }
      await Promise.all(Array.from({ length: 16 }, client))
      expect([...statuses].filter((status) => status !== 200 && status !== 400)).toEqual([])
      expect(await harness.sql`select reason, row_bytes from span_rejects`).toEqual([])
      const counted = await Promise.all(
        [
          'spans_committed_total',
          'spans_duplicate_total',
          'spans_rejected_total',
          'queue_rows',
        ].map((name) => total(name)),
      )
      expect(counted.reduce((sum, count) => sum + count)).toBe(await total('spans_received_total'))
    }, 3_600_000)
  })
})

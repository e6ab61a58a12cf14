import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AppError } from '../../../services/shared/errors.ts'
import { createRowBuffer, releaseRows } from '../../../services/collector/otlp/row-buffer.ts'
import { createTranscoder } from '../../../services/collector/otlp/transcode.ts'
import { jsonRequestToProtobuf } from './oracle/json/json-request.ts'
import { createOracle } from './oracle/transcode.ts'
import type { Transcode } from '../../../services/collector/otlp/transcode.ts'
import { createMemory, HEAP } from '../../../services/collector/otlp/memory.ts'
import type { Allocator } from '../../../services/collector/otlp/memory.ts'
import { createRandom, createSpans } from '../../bench/support/requests.ts'
import { createHarness, JSON_TYPE, PROTOBUF, readImbalance } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { takeCopy } from './support/memory.ts'
import { requestOf, toJson, toProtobuf } from './support/otlp.ts'
import type { TraceRequest } from './support/otlp.ts'

/** `FUZZ_RUNS=100000 npx vitest run test/services/collector/fuzz.test.ts` is the long form. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 150)
const SEED = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
/** Of the runs, this many go all the way to the database. */
const SHARE_END_TO_END = 0.1
const AT_A_TIME = 16
const ALWAYS = { oldest: -(2 ** 53), newest: 2 ** 53 }
const SLOW_MS = 20_000

const samplesAt = (nowMs: number): readonly TraceRequest[] => [
  requestOf(...createSpans('llm', { spans: 3, seed: 1, nowMs })),
  requestOf(...createSpans('light', { spans: 9, seed: 2, nowMs })),
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

interface Outcome {
  readonly isRead: boolean
  readonly rows: string
}

interface Reader {
  readonly transcode: Transcode
  readonly memory: Allocator
}

/**
 * What becomes of a body. Raises when a span is not counted, or a refused body leaves rows behind.
 */
function outcome({ transcode, memory }: Reader, [body, isJson]: [Buffer, boolean]): Outcome {
  const given = takeCopy(memory, body)
  const buffer = createRowBuffer(takeCopy(memory, Buffer.alloc(64)), memory)
  try {
    const facts = { ...ALWAYS, encoding: isJson ? ('json' as const) : undefined }
    const { spans, rows, refused } = transcode(given, buffer, facts)
    const refusals = [...refused.values()].reduce((sum, count) => sum + count, 0)
    expect([buffer.rows, rows + refusals]).toEqual([rows, spans])
    return { isRead: true, rows: buffer.bytes.toString('latin1', 0, buffer.end) }
  } catch (error) {
    expect(error).toBeInstanceOf(AppError)
    expect([buffer.rows, buffer.end]).toEqual([0, 0])
    return { isRead: false, rows: String(error) }
  } finally {
    memory.give(given)
    releaseRows(buffer)
  }
}

describe(`${RUNS} damaged requests (seed ${SEED})`, () => {
  it('are refused, or read to rows that are counted: never more, and as by the oracle', () => {
    const memory = createMemory(4 << 20)
    const transcodeByOracle = createOracle()
    const oracle: Reader = {
      transcode: (body, rows, facts) =>
        transcodeByOracle(
          facts.encoding === 'json' ? jsonRequestToProtobuf(body) : body,
          rows,
          facts,
        ),
      memory: HEAP,
    }
    const product = { transcode: createTranscoder(memory), memory }
    const random = createRandom(SEED)
    // The times are of the seed too, or it would not repeat what it found.
    const encoded = samplesAt(below(random, 2 ** 32) * 500).flatMap((sample) => [
      toProtobuf(sample),
      toJson(sample),
    ])
    let read = 0
    for (let run = 0; run < RUNS; run++) {
      const place = run % encoded.length
      const body = damage(encoded[place] ?? Buffer.alloc(0), random)
      const started = performance.now()
      const expected = outcome(oracle, [body, place % 2 === 1])
      expect(outcome(product, [body, place % 2 === 1]), `run ${run}`).toEqual(expected)
      expect(memory.used(), `run ${run}`).toBe(0)
      if (expected.isRead) read++
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

    it('are answered 200 or 400, the database refuses none, and all spans count', async () => {
      const random = createRandom(SEED + 1)
      const bodies = samplesAt(Date.now()).flatMap((sample) => [
        [toProtobuf(sample), PROTOBUF] as const,
        [toJson(sample), JSON_TYPE] as const,
      ])
      for (let run = 0; run < RUNS * SHARE_END_TO_END; run += AT_A_TIME) {
        const answers = await Promise.all(
          Array.from({ length: AT_A_TIME }, (_, i) => {
            const [sample, type] = bodies[i % bodies.length] ?? [Buffer.alloc(0), PROTOBUF]
            return harness.post(damage(sample, random), { 'content-type': type })
          }),
        )
        const others = answers.filter(({ status }) => status !== 200 && status !== 400)
        expect(others.length, `run ${run}`).toBe(0)
        expect(await readImbalance(harness.collector.metricsUrl), `run ${run}`).toBe(0)
      }
      expect(await harness.sql`select reason, row_bytes from span_rejects`).toEqual([])
    }, 3_600_000)
  })
})

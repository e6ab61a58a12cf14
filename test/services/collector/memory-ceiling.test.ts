import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import type { OutgoingHttpHeaders } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SHARE_OF_LIMIT } from '../../../services/collector/server/admission.ts'
import { createRequest, freshCopy } from '../../bench/support/requests.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { programPath } from '../../support/program.ts'
import { spawnCollector } from './support/process.ts'
import type { CollectorProcess } from './support/process.ts'
import { requestOf, spanOf, textAttribute, toJson, toProtobuf } from './support/otlp.ts'
import { bearer, JSON_TYPE, lockSpans, PROTOBUF, readMetric } from './support/harness.ts'
import { few, isLong } from '../../support/long.ts'

const MiB = 1 << 20
/** What the chart gives a collector (SPEC 2.6), and what of it the process may reach. */
const LIMIT_BYTES = 512 * MiB
const CEILING_BYTES = 300 * MiB
/** What Node gives itself under that limit. */
const AS_IN_THE_POD = ['--max-old-space-size=256', '--max-semi-space-size=2']
/** Their bodies alone are more than the ceiling, also where they are fewer. */
const SENDERS = isLong ? 64 : 40
/** As exporters wait before they try again: longer each time. */
const [FIRST_PAUSE_MS, LAST_PAUSE_MS] = [1000, 5000]
/** How many answers of a kind are waited for. */
const [MANY, SOME] = isLong ? [SENDERS / 2, 4] : [8, 1]
/** Waits for what takes a second or two on an idle machine. */
const patiently = { timeout: 240_000, interval: 50 }

/** `/proc` is where Linux tells how much memory a process has had at the most. */
describe.skipIf(!existsSync('/proc/self/status'))(
  `the memory of a collector in a pod of 512 MiB, with ${SENDERS} senders (SPEC 2.6)`,
  () => {
    let database: TestDatabase
    let collector: CollectorProcess
    beforeAll(async () => {
      database = await createDatabase('collector')
      collector = await spawnCollector(programPath('collector'), {
        databaseUrl: database.url,
        nodeOptions: AS_IN_THE_POD,
        env: { COLLECTOR_MEMORY_BYTES: String(Math.floor(LIMIT_BYTES * SHARE_OF_LIMIT)) },
      })
    })
    afterAll(async () => {
      await collector.kill('SIGKILL')
      await database.drop()
    })

    const cases: readonly [string, () => () => Buffer, OutgoingHttpHeaders][] = [
      ['protobuf of 8 MiB', () => createBodies(2600), {}],
      ['gzip of 8 MiB', createZippedBodies, { 'content-encoding': 'gzip' }],
      ['JSON of 8 MiB', createJsonBodies, { 'content-type': JSON_TYPE }],
    ]
    it.each(few(cases, 1))(
      'stays under 300 MiB while the database stands still, and recovers at once: %s' +
        ' (npm run test:long: gzip and JSON as well)',
      async (_, createBody, headers) => {
        const release = await lockSpans(database.url)
        const senders = await startSenders(collector.url, createBody(), headers)
        try {
          await expect.poll(() => senders.count(503), patiently).toBeGreaterThan(MANY)
          await release()
          await expect.poll(() => senders.count(200), patiently).toBeGreaterThan(SOME)
        } finally {
          await senders.stop()
        }
        expect(new Set(senders.statuses())).toEqual(new Set([200, 503]))
        await expect.poll(() => heldBytes(collector), patiently).toBe(0)
        expect(peakBytes(collector) / MiB).toBeLessThan(CEILING_BYTES / MiB)
      },
      600_000,
    )

    it.runIf(isLong)(
      'stays under 300 MiB: bombs of 1 MiB that hold a gigabyte',
      async () => {
        const bomb = createBomb()
        const senders = await startSenders(collector.url, () => bomb, {
          'content-encoding': 'gzip',
        })
        try {
          await expect.poll(() => senders.count(413), patiently).toBeGreaterThan(MANY)
        } finally {
          await senders.stop()
        }
        expect(senders.statuses().filter((status) => status !== 503)).toEqual([413])
        await expect.poll(() => heldBytes(collector), patiently).toBe(0)
        expect(peakBytes(collector) / MiB).toBeLessThan(CEILING_BYTES / MiB)
      },
      600_000,
    )
  },
)

interface Senders {
  /** How often they got this answer. */
  count(status: number): number
  statuses(): number[]
  /** Ends each in the middle of what it does. */
  stop(): Promise<void>
}

/**
 * Starts senders, each with a connection of its own; a body is sent until it is answered with
 * something but 503.
 */
async function startSenders(
  url: string,
  body: () => Buffer,
  given: OutgoingHttpHeaders,
): Promise<Senders> {
  const agent = new Agent({ keepAlive: true })
  const stopping = new AbortController()
  const { signal } = stopping
  setMaxListeners(0, signal)
  const counts = new Map<number, number>()
  const authorization = await bearer()
  const headers = { 'content-type': PROTOBUF, authorization, ...given }
  const sender = async (): Promise<void> => {
    let bytes = body()
    let pauseMs = FIRST_PAUSE_MS
    while (!signal.aborted) {
      const status = await send(`${url}/v1/traces`, bytes, { agent, headers, signal })
      counts.set(status, (counts.get(status) ?? 0) + 1)
      if (status === 503) {
        await delay(pauseMs, undefined, { signal })
        pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 2)
      } else {
        bytes = body()
        pauseMs = FIRST_PAUSE_MS
      }
    }
  }
  const ended = (thrown: unknown): void => {
    if (!signal.aborted) throw thrown
  }
  const running = Array.from({ length: SENDERS }, () => sender().catch(ended))
  return {
    count: (status) => counts.get(status) ?? 0,
    statuses: () => [...counts.keys()],
    async stop() {
      stopping.abort()
      await Promise.all(running)
      agent.destroy()
    },
  }
}

function send(
  url: string,
  body: Buffer,
  options: { agent: Agent; headers: OutgoingHttpHeaders; signal: AbortSignal },
): Promise<number> {
  const headers = { ...options.headers, 'content-length': body.length }
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...options, method: 'POST', headers }, (response) => {
      response
        .resume()
        .on('error', reject)
        .on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', reject).end(body)
  })
}

const heldBytes = ({ metricsUrl }: CollectorProcess): Promise<number> =>
  readMetric(metricsUrl, 'collector_queue_bytes')

function peakBytes({ child }: CollectorProcess): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024
}

/** Bodies that each have spans of their own. */
function createBodies(spans: number): () => Buffer {
  const template = createRequest('llm', { spans, seed: 1, nowMs: Date.now() })
  let copies = 0
  return () => freshCopy(template, ++copies)
}

function createJsonBodies(): () => Buffer {
  const spans = Array.from({ length: 1500 }, (_, i) =>
    spanOf({ attributes: [textAttribute('prompt', `${i} "x" `.repeat(640))] }),
  )
  const body = toJson(requestOf(...spans))
  return () => body
}

/**
 * Of what hardly compresses. To make them is slow: a few serve all senders, who then repeat each
 * other's spans.
 */
function createZippedBodies(): () => Buffer {
  const picture = () => textAttribute('picture', randomBytes(3000).toString('base64'))
  const bodies = Array.from({ length: 4 }, () => {
    const spans = Array.from({ length: 2700 }, () => spanOf({ attributes: [picture()] }))
    return gzipSync(toProtobuf(requestOf(...spans)), { level: 1 })
  })
  let turn = 0
  return () => bodies[turn++ % bodies.length] ?? Buffer.alloc(0)
}

/** Inflates to a gigabyte of zeros: a gzip stream may have many members. */
const createBomb = (): Buffer =>
  Buffer.concat(Array<Buffer>(64).fill(gzipSync(Buffer.alloc(16 * MiB), { level: 9 })))

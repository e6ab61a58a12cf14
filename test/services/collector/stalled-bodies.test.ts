import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, createHarness, PROTOBUF } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import { openRaw } from './support/raw.ts'
import type { RawConnection } from './support/raw.ts'

/** Time enough, on a busy machine, to see the memory that stalled bodies hold. */
const BODY_IDLE_MS = 4000
const MEMORY_BYTES = 16 << 20
/** Together they hold all that bodies may have of the memory. */
const SENDERS = 40
const LENGTH = 110_000

describe('senders that stop in the middle of a body', () => {
  let harness: Harness
  beforeAll(async () => {
    const env = { COLLECTOR_MEMORY_BYTES: String(MEMORY_BYTES) }
    harness = await createHarness(env, { bodyIdleMs: BODY_IDLE_MS })
  })
  afterAll(() => harness.stop())

  const large = () => {
    const text = textAttribute('text', 'x'.repeat(LENGTH * 3))
    return harness.post(toProtobuf(requestOf(spanOf({ attributes: [text] }))))
  }
  const begin = async (head: string, body: Buffer): Promise<RawConnection> => {
    const raw = await openRaw(harness.collector.url)
    raw.write(
      `POST /v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: ${await bearer()}\r\n` +
        `Content-Type: ${PROTOBUF}\r\n${head}\r\n\r\n`,
    )
    raw.write(body)
    return raw
  }

  it('have their memory taken from them, so that others can send', async () => {
    const length = `Content-Length: ${LENGTH}`
    const stalled = await Promise.all(
      Array.from({ length: SENDERS }, () => begin(length, Buffer.alloc(LENGTH / 2))),
    )
    const bytes = () => harness.metric('collector_queue_bytes')
    await expect.poll(bytes, { interval: 10 }).toBeGreaterThan(SENDERS * LENGTH - 1)
    expect((await large()).status).toBe(503)
    await expect.poll(async () => (await large()).status).toBe(200)
    for (const raw of stalled) {
      const answer = await raw.until('\r\n\r\n')
      expect(answer).toMatch(/^HTTP\/1.1 503/)
      for (const header of ['connection: close', 'retry-after: 1']) {
        expect(answer.toLowerCase()).toContain(header)
      }
      raw.close()
    }
    await expect.poll(bytes).toBe(0)
    const reason = { reason: 'body_stalled' }
    expect(await harness.metric('collector_requests_refused_total', reason)).toBe(SENDERS)
  })

  it('are let go also when their body has no length', async () => {
    const raw = await begin('Transfer-Encoding: chunked', Buffer.from('5\r\nhello\r\n'))
    expect(await raw.until('\r\n\r\n')).toMatch(/^HTTP\/1.1 503[^]*[Cc]onnection: close/)
    raw.close()
  })

  it('may be slow, as long as something comes', async () => {
    const body = toProtobuf(requestOf(spanOf()))
    const raw = await begin(`Content-Length: ${body.length}`, body.subarray(0, 1))
    const until = Date.now() + 1.5 * BODY_IDLE_MS
    for (let at = 1; at < body.length; at++) {
      raw.write(body.subarray(at, at + 1))
      if (Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 30))
    }
    expect(await raw.until('\r\n\r\n')).toMatch(/^HTTP\/1.1 200/)
    raw.close()
  })
})

import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createAdmission,
  defaultCapacity,
} from '../../../../services/collector/server/admission.ts'
import { createMemory } from '../../../../services/collector/otlp/memory.ts'
import { bearer, createHarness, lockSpans, PROTOBUF } from '../support/harness.ts'
import type { Harness } from '../support/harness.ts'
import { requestOf, spanOf, textAttribute, toProtobuf } from '../support/otlp.ts'
import { openRaw } from '../support/raw.ts'

const MiB = 1 << 20

describe('the memory budget', () => {
  const root = mkdtempSync(join(tmpdir(), 'cgroup-'))
  afterAll(() => rmSync(root, { recursive: true }))

  it('is 25 % of the limit of cgroup v2 or v1, and a fixed size without one', () => {
    const [v2, v1, none] = ['v2', 'v1', 'none'].map((name) => join(root, name))
    for (const path of [v2, join(v1 ?? '', 'memory'), none])
      mkdirSync(path ?? '', { recursive: true })
    writeFileSync(`${v2}/memory.max`, `${512 * MiB}\n`)
    writeFileSync(`${v1}/memory/memory.limit_in_bytes`, `${256 * MiB}\n`)
    writeFileSync(`${none}/memory.max`, 'max\n')
    expect(defaultCapacity(v2)).toBe(Math.floor(512 * MiB * 0.25))
    expect(defaultCapacity(v1)).toBe(Math.floor(256 * MiB * 0.25))
    expect(defaultCapacity(none)).toBe(256 * MiB)
    writeFileSync(`${none}/memory.max`, '9223372036854771712\n')
    expect(defaultCapacity(none)).toBe(256 * MiB)
  })

  it('lets a body in when there is room for it and for the largest work on those before it', () => {
    const memory = createMemory(20 * MiB)
    const admit = createAdmission(memory)
    const first = admit({ body: 3 * MiB, workspace: 16 * MiB })
    expect(first?.body.length).toBe(3 * MiB)
    expect(admit({ body: 2 * MiB, workspace: 1 * MiB })).toBeUndefined()
    expect(admit({ body: 1 * MiB, workspace: 0 })?.body.length).toBe(1 * MiB)
    first?.done()
    expect(admit({ body: 2 * MiB, workspace: 15 * MiB })).toBeUndefined()
    expect(admit({ body: 2 * MiB, workspace: 14 * MiB })?.body.length).toBe(2 * MiB)
    expect(memory.used()).toBe(6 * MiB)
  })

  it('keeps the larger part for the work on bodies, however little of it they seem to need', () => {
    const admit = createAdmission(createMemory(10 * MiB))
    const needs = { body: 1 * MiB, workspace: 0 }
    const tickets = [1, 2, 3, 4].map(() => admit(needs))
    expect(tickets.map((ticket) => ticket !== undefined)).toEqual([true, true, false, false])
    tickets[0]?.done()
    expect(admit(needs)?.body.length).toBe(1 * MiB)
  })
})

describe('a collector with little memory (SPEC 2.6)', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness({ COLLECTOR_MEMORY_BYTES: String(6 * MiB) })
  })
  afterAll(() => harness.stop())

  const bodyOf = (bytes: number): Buffer => {
    const count = Math.ceil(bytes / 100_000)
    const text = 'x'.repeat(Math.floor(bytes / count) - 40)
    const attributes = Array.from({ length: count }, (_, i) => textAttribute(`k${i}`, text))
    return toProtobuf(requestOf(spanOf({ attributes })))
  }
  const used = () => harness.metric('collector_queue_bytes')

  it('takes bodies of a quarter of the budget at the least, and a third at the most', async () => {
    expect((await harness.post(bodyOf(1.5 * MiB))).status).toBe(200)
    expect((await harness.post(bodyOf(2 * MiB))).status).toBe(413)
  })

  it('answers 503 and Retry-After before it reads a body that does not fit', async () => {
    const head = async (bytes: number): Promise<string> =>
      `POST /v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: ${await bearer()}\r\n` +
      `Content-Type: ${PROTOBUF}\r\nContent-Length: ${Math.floor(bytes)}\r\n\r\n`
    const open = await Promise.all([1, 2].map(() => openRaw(harness.collector.url)))
    for (const connection of open) connection.write(await head(0.8 * MiB))
    await expect.poll(used).toBeGreaterThanOrEqual(1.6 * MiB)
    const refused = await openRaw(harness.collector.url)
    refused.write(await head(0.8 * MiB))
    const answer = await refused.until('\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1.1 503/)
    expect(answer.toLowerCase()).toContain('retry-after: 1\r\n')
    for (const connection of [...open, refused]) connection.close()
    await expect.poll(used).toBe(0)
    expect((await harness.post(bodyOf(1 * MiB))).status).toBe(200)
    expect(
      await harness.metric('collector_requests_refused_total', { reason: 'client_gone' }),
    ).toBe(2)
  })

  it('counts what resources take, for as long as their spans wait', async () => {
    const release = await lockSpans(harness.databaseUrl)
    const attributes = Array.from({ length: 10 }, (_, i) => textAttribute(`k${i}`, 'x'.repeat(1e5)))
    const sent = harness.post(
      toProtobuf({
        resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans: [spanOf()] }] }],
      }),
    )
    const rows = () => harness.metric('collector_queue_rows')
    await expect.poll(rows).toBe(1)
    expect(await used()).toBeGreaterThan(1e6)
    await release()
    expect((await sent).status).toBe(200)
    await expect.poll(used).toBe(0)
  })

  it('gets back the memory of clients that disconnect at any moment', async () => {
    const body = bodyOf(MiB / 2)
    const request = Buffer.concat([
      Buffer.from(
        `POST /v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: ${await bearer()}\r\n` +
          `Content-Type: ${PROTOBUF}\r\nContent-Length: ${body.length}\r\n\r\n`,
      ),
      body,
    ])
    for (let size = 0; size <= request.length; size += request.length / 40) {
      const connection = await openRaw(harness.collector.url)
      connection.write(request.subarray(0, size))
      // Some go while the head is on its way, some while the body is.
      if (size % 2 < 1) await new Promise((resolve) => setImmediate(resolve))
      connection.close()
    }
    await expect.poll(used).toBe(0)
  })

  it('gives up on a bomb without inflating it', async () => {
    const bomb = gigabyte()
    expect(bomb.length).toBeLessThan(1.1 * MiB)
    const before = process.memoryUsage().rss
    const response = await harness.post(bomb, { 'content-encoding': 'gzip' })
    expect(response.status).toBe(413)
    expect(process.memoryUsage().rss - before).toBeLessThan(80 * MiB)
    expect(await used()).toBe(0)
  })

  it('inflates bodies whose trailer lies about their size', async () => {
    const lying = gzipSync(toProtobuf(requestOf(spanOf())))
    lying.writeUInt32LE(7, lying.length - 4)
    expect((await harness.post(lying, { 'content-encoding': 'gzip' })).status).toBe(400)
    const members = Buffer.concat([
      gzipSync(toProtobuf(requestOf(spanOf(), spanOf()))),
      gzipSync(toProtobuf(requestOf(spanOf()))),
    ])
    expect((await harness.post(members, { 'content-encoding': 'gzip' })).status).toBe(200)
  })

  it.each(['gzip', 'deflate'])('answers 400 to a body that is not %s', async (coding) => {
    for (const body of [Buffer.from('not compressed'), Buffer.alloc(0), Buffer.alloc(30)]) {
      const response = await harness.post(body, { 'content-encoding': coding })
      expect(response.status).toBe(400)
    }
    expect(await used()).toBe(0)
  })

  it('answers 400 to a compressed body that is cut off', async () => {
    const body = gzipSync(bodyOf(1 * MiB))
    const cut = body.subarray(0, body.length - 20)
    expect((await harness.post(cut, { 'content-encoding': 'gzip' })).status).toBe(400)
  })
})

/** Inflates to a gigabyte of zeros: a gzip stream may have many members. */
function gigabyte(): Buffer {
  const member = gzipSync(Buffer.alloc(16 * MiB), { level: 9 })
  return Buffer.concat(Array.from({ length: 64 }, () => member))
}

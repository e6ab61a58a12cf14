import { Metadata } from '@grpc/grpc-js'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { authorized, openGrpc, SERVICE } from '../../support/grpc.ts'
import type { GrpcClient } from '../../support/grpc.ts'
import { bearerAt, createHarness } from '../../support/harness.ts'
import type { Harness } from '../../support/harness.ts'
import { requestOf, spanOf, textAttribute, toProtobuf } from '../../support/otlp.ts'
import { decodePartialSuccess } from '../../support/status.ts'

const MAX_BODY_BYTES = 100_000
const [INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED, UNAVAILABLE, UNAUTHENTICATED] = [
  3, 8, 12, 14, 16,
]
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'

describe('OTLP over gRPC', () => {
  let harness: Harness
  let client: GrpcClient
  beforeAll(async () => {
    const env = { GRPC_PORT: '0', COLLECTOR_MAX_BODY_BYTES: String(MAX_BODY_BYTES) }
    harness = await createHarness(env)
    client = openGrpc(harness.collector.grpcUrl ?? '')
  })
  afterAll(async () => {
    client.close()
    await harness.stop()
  })

  const stored = async (traceId = ''): Promise<number> =>
    (await harness.sql`select from spans where trace_id = ${traceId}::uuid`).length
  const calls = (code: number) =>
    harness.metric('collector_grpc_requests_total', { code: String(code) })

  it.each(['none', 'gzip', 'deflate'] as const)(
    'answers OK once spans are committed, with compression %s',
    async (compression) => {
      const own = openGrpc(harness.collector.grpcUrl ?? '', { compression })
      const span = spanOf()
      const answer = await own.send(toProtobuf(requestOf(span)))
      expect(answer).toMatchObject({ code: 0, body: Buffer.alloc(0) })
      expect(await stored(span.traceId)).toBe(1)
      own.close()
    },
  )

  it('takes a request without spans', async () => {
    expect(await client.send(Buffer.alloc(0))).toMatchObject({ code: 0, body: Buffer.alloc(0) })
  })

  it('stores spans once that are sent again, over gRPC or HTTP', async () => {
    const span = spanOf()
    const body = toProtobuf(requestOf(span))
    expect((await client.send(body)).code).toBe(0)
    expect((await client.send(body)).code).toBe(0)
    expect((await harness.post(body)).status).toBe(200)
    expect(await stored(span.traceId)).toBe(1)
  })

  it('tells in partial_success which spans were rejected, and stores the others', async () => {
    const good = spanOf()
    const answer = await client.send(
      toProtobuf(requestOf(spanOf({ traceId: '00'.repeat(16) }), good)),
    )
    expect(answer.code).toBe(0)
    expect(decodePartialSuccess(new Uint8Array(answer.body ?? []).buffer)).toEqual({
      rejected: 1,
      message: expect.stringContaining('1 invalid_trace_id') as string,
    })
    expect(await stored(good.traceId)).toBe(1)
  })

  it('tells in partial_success what was cut of spans that are stored', async () => {
    const attributes = Array.from({ length: 1030 }, (_, i) => textAttribute(`k${i}`, 'x'))
    const answer = await client.send(toProtobuf(requestOf(spanOf({ attributes }))))
    expect(decodePartialSuccess(new Uint8Array(answer.body ?? []).buffer)).toEqual({
      rejected: 0,
      message: expect.stringContaining('6 attributes') as string,
    })
  })

  it('answers INVALID_ARGUMENT with a BadRequest to what it cannot read', async () => {
    const before = await calls(INVALID_ARGUMENT)
    const answer = await client.send(Buffer.from('{"resourceSpans": "sekrit"}'))
    expect(answer).toMatchObject({
      code: INVALID_ARGUMENT,
      details: ['type.googleapis.com/google.rpc.BadRequest'],
    })
    expect(JSON.stringify(answer)).not.toContain('sekrit')
    expect(await calls(INVALID_ARGUMENT)).toBe(before + 1)
  })

  it('answers INVALID_ARGUMENT to a message that is not gzip although it says so', async () => {
    const own = openGrpc(harness.collector.grpcUrl ?? '')
    const metadata = await authorized({ 'grpc-encoding': 'gzip' })
    // The client takes the metadata for its own and compresses: the bytes are no spans then.
    const answer = await own.send(gzipSync('no spans'), { metadata })
    expect(answer.code).toBe(INVALID_ARGUMENT)
    own.close()
  })

  it('answers RESOURCE_EXHAUSTED, not to be repeated, to a message that is too large', async () => {
    const text = textAttribute('text', 'x'.repeat(MAX_BODY_BYTES))
    const body = toProtobuf(requestOf(spanOf({ attributes: [text] })))
    const gzip = openGrpc(harness.collector.grpcUrl ?? '', { compression: 'gzip' })
    for (const sender of [client, gzip]) {
      const answer = await sender.send(body)
      expect(answer).toMatchObject({ code: RESOURCE_EXHAUSTED, details: [] })
      expect(answer.message).toContain('100000 bytes')
    }
    gzip.close()
  })

  const tokens: [string, () => Promise<Record<string, string>>][] = [
    ['no token', async () => ({})],
    ['a token that is none', async () => ({ authorization: 'Bearer nonsense' })],
    ['an expired token', async () => ({ authorization: await bearerAt(Date.now() - 1e7) })],
  ]
  it.each(tokens)('answers UNAUTHENTICATED to %s', async (_, headers) => {
    const metadata = new Metadata()
    for (const [name, value] of Object.entries(await headers())) metadata.set(name, value)
    const span = spanOf()
    const answer = await client.send(toProtobuf(requestOf(span)), { metadata })
    expect(answer).toMatchObject({ code: UNAUTHENTICATED, details: [] })
    expect(await stored(span.traceId)).toBe(0)
  })

  it.each([
    ['logs', 'logs.v1.LogsService'],
    ['metrics', 'metrics.v1.MetricsService'],
  ])('tells a sender of %s what to set', async (signal, service) => {
    const answer = await client.send(Buffer.alloc(50_000), { path: `${SERVICE}.${service}/Export` })
    expect(answer.code).toBe(UNIMPLEMENTED)
    expect(answer.message).toContain(`set OTEL_${signal.toUpperCase()}_EXPORTER=none`)
  })

  it('answers UNIMPLEMENTED to another path', async () => {
    const answer = await client.send(Buffer.alloc(0), { path: '/grpc.health.v1.Health/Check' })
    expect(answer.code).toBe(UNIMPLEMENTED)
  })

  it('answers UNAVAILABLE with the time of a retry while the memory is full', async () => {
    const other = await harness.another({
      GRPC_PORT: '0',
      COLLECTOR_MEMORY_BYTES: String(1 << 20),
      COLLECTOR_MAX_BODY_BYTES: '200000',
    })
    const small = openGrpc(other.grpcUrl ?? '')
    const stalled = Array.from({ length: 4 }, () => Buffer.alloc(150_000))
    const answers = await Promise.all(stalled.map((body) => small.send(body)))
    const refused = answers.filter(({ code }) => code === UNAVAILABLE)
    expect(refused.length).toBeGreaterThan(0)
    for (const answer of refused) {
      expect(answer.details).toEqual([RETRY_INFO])
      expect(answer.trailers).toMatchObject({ 'grpc-retry-pushback-ms': '1000' })
    }
    small.close()
  })

  it('is off when no port is set', async () => {
    const other = await harness.another({})
    expect(other.grpcUrl).toBeUndefined()
  })
})

import { once } from 'node:events'
import { connect, constants } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGrpc, TRACES } from '../../support/grpc.ts'
import { bearer, createHarness } from '../../support/harness.ts'
import type { Harness } from '../../support/harness.ts'
import { FLAGS, frame, headerBlock, openHttp2, TYPES } from '../../support/http2-frames.ts'
import { requestOf, spanOf, toProtobuf } from '../../support/otlp.ts'
import { openRaw } from '../../support/raw.ts'

const MEMORY_BYTES = 16 << 20
const BODY_IDLE_MS = 1500
const LENGTH = 100_000
/** The head of the frame. */
const GOAWAY = '\0\0\x08\x07\0\0\0\0\0'

describe('clients of gRPC that do what they should not', () => {
  let harness: Harness
  let session: ClientHttp2Session
  beforeAll(async () => {
    const env = { GRPC_PORT: '0', COLLECTOR_MEMORY_BYTES: String(MEMORY_BYTES) }
    harness = await createHarness(env, { bodyIdleMs: BODY_IDLE_MS })
    session = connect(url())
  })
  afterAll(async () => {
    session.close()
    await harness.stop()
  })
  /** Others are served as before, and nothing of what happened holds memory. */
  const expectNoTrace = async (): Promise<void> => {
    const other = openGrpc(url())
    const body = toProtobuf(requestOf(spanOf()))
    await expect.poll(async () => (await other.send(body)).code).toBe(0)
    other.close()
    const bytes = () => harness.metric('collector_queue_bytes')
    await expect.poll(bytes).toBe(0)
  }

  const url = (): string => harness.collector.grpcUrl ?? ''
  const head = async (more: OutgoingHttpHeaders = {}): Promise<OutgoingHttpHeaders> => ({
    ':method': 'POST',
    ':path': TRACES,
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: await bearer(),
    ...more,
  })
  const open = async (more?: OutgoingHttpHeaders): Promise<ClientHttp2Stream> => {
    const stream = session.request(await head(more))
    stream.on('error', () => {})
    return stream
  }
  const message = (length: number, body = Buffer.alloc(length), flag = 0): Buffer => {
    const prefix = Buffer.alloc(5)
    prefix.writeUInt8(flag, 0)
    prefix.writeUInt32BE(length, 1)
    return Buffer.concat([prefix, body])
  }
  /** The headers of an answer, and its trailers, together. */
  const answerTo = async (stream: ClientHttp2Stream): Promise<OutgoingHttpHeaders> => {
    const all: OutgoingHttpHeaders = {}
    stream.on('response', (headers) => void Object.assign(all, headers))
    stream.on('trailers', (headers) => void Object.assign(all, headers))
    stream.resume()
    await once(stream, 'close')
    return all
  }

  const bodies: [string, Buffer, OutgoingHttpHeaders, string][] = [
    ['no message', Buffer.alloc(0), {}, '3'],
    ['half a prefix', Buffer.alloc(3), {}, '3'],
    ['a message that is cut off', message(100, Buffer.alloc(99)), {}, '3'],
    ['two messages', Buffer.concat([message(0), message(0)]), {}, '3'],
    ['an unknown flag', message(0, Buffer.alloc(0), 2), {}, '3'],
    ['a compressed message without its coding', message(3, Buffer.from('abc'), 1), {}, '3'],
    ['an unknown compression', message(0), { 'grpc-encoding': 'snappy' }, '12'],
    [
      'bytes that are not gzip',
      message(3, Buffer.from('abc'), 1),
      { 'grpc-encoding': 'gzip' },
      '3',
    ],
  ]
  it.each(bodies)('send %s', async (...[, body, headers, code]) => {
    const stream = await open(headers)
    stream.end(body)
    expect(await answerTo(stream)).toMatchObject({ ':status': 200, 'grpc-status': code })
    await expectNoTrace()
  })

  it('announce too much: they are told before they have sent it', async () => {
    const stream = await open()
    stream.write(message(64 << 20, Buffer.alloc(0)))
    const answer = await answerTo(stream)
    expect(answer).toMatchObject({ 'grpc-status': '8' })
    expect(answer).not.toHaveProperty('grpc-retry-pushback-ms')
  })

  it.each([
    [405, { ':method': 'GET' }],
    [415, { 'content-type': 'application/x-protobuf' }],
    [415, { 'content-type': 'application/grpc+json' }],
  ])('speak no gRPC: HTTP status %d to %o', async (status, headers) => {
    const stream = await open(headers)
    stream.end()
    expect(await answerTo(stream)).toMatchObject({ ':status': status })
  })

  it('send two tokens', async () => {
    const raw = await openHttp2(url())
    const two = Object.entries(await head()).map(([name, value]) => [name, String(value)] as const)
    const block = headerBlock([
      ...two.filter(([name]) => name.startsWith(':')),
      [':scheme', 'http'],
      [':authority', 'x'],
      ...two.filter(([name]) => !name.startsWith(':')),
      ['authorization', await bearer()],
    ])
    const flags = FLAGS.endHeaders | FLAGS.endStream
    raw.write(frame({ type: TYPES.headers, flags, stream: 1, payload: block }))
    const failures = () => harness.metric('collector_auth_failures_total', { reason: 'repeated' })
    await expect.poll(failures).toBe(1)
    raw.close()
  })

  it('disconnect in the middle of a message', async () => {
    const bytes = () => harness.metric('collector_queue_bytes')
    const stream = await open()
    stream.write(message(LENGTH, Buffer.alloc(LENGTH / 2)))
    await expect.poll(bytes).toBeGreaterThan(LENGTH - 1)
    stream.close(constants.NGHTTP2_CANCEL)
    await expectNoTrace()
  })

  it('stop in the middle of a message: they are told to repeat it', async () => {
    const [silent, stalled] = [await open(), await open()]
    stalled.write(message(LENGTH, Buffer.alloc(LENGTH / 2)))
    for (const answer of await Promise.all([silent, stalled].map(answerTo))) {
      expect(answer).toMatchObject({ 'grpc-status': '14', 'grpc-retry-pushback-ms': '1000' })
    }
    await expectNoTrace()
  })

  it('open a thousand streams', async () => {
    const many = connect(url()).on('error', () => {})
    await once(many, 'remoteSettings')
    const headers = await head()
    const streams = Array.from({ length: 1000 }, () => many.request(headers).on('error', () => {}))
    for (const stream of streams) stream.write(message(LENGTH, Buffer.alloc(LENGTH / 2)))
    const bytes = () => harness.metric('collector_queue_bytes')
    await expect.poll(bytes).toBeGreaterThan(0)
    expect(await bytes()).toBeLessThanOrEqual(0.28 * MEMORY_BYTES)
    expect(many.closed).toBe(false)
    many.destroy()
    await expectNoTrace()
  })

  const floods: [string, (turn: number) => Buffer][] = [
    ['pings', () => frame({ type: TYPES.ping, payload: Buffer.alloc(8) })],
    ['settings', () => frame({ type: TYPES.settings })],
    [
      'a head that has no end',
      (turn) =>
        turn === 0
          ? frame({ type: TYPES.headers, stream: 1, payload: block })
          : frame({ type: TYPES.continuation, stream: 1, payload: headerBlock([['x', 'y']]) }),
    ],
  ]
  const block = headerBlock([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':authority', 'x'],
    [':path', TRACES],
    ['content-type', 'application/grpc'],
  ])
  it.each(floods)('flood it with %s: their connection is closed', async (_, make) => {
    const raw = await openHttp2(url())
    for (let turn = 0; turn < 5000 && !raw.socket.destroyed; turn++) raw.write(make(turn))
    if (!raw.socket.closed) await once(raw.socket, 'close')
    await expectNoTrace()
  })

  it('flood it with calls that they reset at once: they are disconnected', async () => {
    const raw = await openHttp2(url())
    const code = Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL])
    const flags = FLAGS.endHeaders
    for (let stream = 1; stream < 4000; stream += 2) {
      raw.write(frame({ type: TYPES.headers, flags, stream, payload: block }))
      raw.write(frame({ type: TYPES.reset, stream, payload: code }))
    }
    await raw.until(GOAWAY)
    raw.close()
    await expectNoTrace()
  })

  it('speak HTTP/1.1: the operator sees them in a metric', async () => {
    const raw = await openRaw(url())
    raw.write('POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n')
    const refused = () => harness.metric('collector_requests_refused_total', { reason: 'not_grpc' })
    await expect.poll(refused).toBe(1)
    raw.close()
  })

  it('use the port of HTTP: they are told the one for gRPC', async () => {
    const client = connect(harness.collector.url)
    const [, , advice] = await once(
      client.on('error', () => {}),
      'goaway',
    )
    expect(String(advice)).toContain(`port ${new URL(url()).port}`)
    client.destroy()
  })
})

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

type AttributeValue = string | number | boolean | readonly AttributeValue[] | undefined
export type Attributes = Readonly<Record<string, AttributeValue>>

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly kind: number
  /** In milliseconds since the epoch. */
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[]
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly status: { readonly code: number; readonly message: string }
  readonly resource: Attributes
}

export interface Export {
  readonly headers: IncomingHttpHeaders
  readonly receivedAt: number
  readonly spans: readonly ReceivedSpan[]
}

export interface SpanReceiver {
  readonly url: string
  readonly exports: Export[]
  /** Every span of the accepted exports. */
  spans(): ReceivedSpan[]
  /** What the next requests are answered with, in order; after that 200. */
  refuseWith(...statuses: number[]): void
  stop(): Promise<void>
}

/** A trace collector for tests: takes what the real exporter sends, gzip and protobuf. */
export async function startSpanReceiver(): Promise<SpanReceiver> {
  const exports: Export[] = []
  const accepted: Export[] = []
  let refusals: number[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const spans = readRequest(gunzipSync(Buffer.concat(chunks)))
      const received = { headers: request.headers, receivedAt: Date.now(), spans }
      exports.push(received)
      const status = request.url === '/v1/traces' ? (refusals.shift() ?? 200) : 404
      if (status === 200) accepted.push(received)
      response.writeHead(status, {
        'content-type': 'application/x-protobuf',
        ...(status === 503 ? { 'retry-after': '0' } : {}),
      })
      response.end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exports,
    spans: () => accepted.flatMap(({ spans }) => spans),
    refuseWith: (...statuses) => void (refusals = statuses),
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

type Field = bigint | Buffer
type Message = Map<number, Field[]>

/** The fields of one protobuf message, by number. */
function readMessage(bytes: Buffer): Message {
  const fields: Message = new Map()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at)
      at += 1
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (length: number): Buffer => {
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const values = fields.get(tag >> 3) ?? []
    fields.set(tag >> 3, values)
    const wire = tag & 7
    if (wire === 0) values.push(varint())
    else if (wire === 1) values.push(take(8).readBigUInt64LE())
    else if (wire === 2) values.push(take(Number(varint())))
    else values.push(take(4))
  }
  return fields
}

const bytesOf = (message: Message, field: number): Buffer[] =>
  (message.get(field) ?? []).filter((value) => Buffer.isBuffer(value))
const messagesOf = (message: Message, field: number): Message[] =>
  bytesOf(message, field).map(readMessage)
const textOf = (message: Message, field: number): string =>
  bytesOf(message, field)[0]?.toString() ?? ''
const hexOf = (message: Message, field: number): string =>
  bytesOf(message, field)[0]?.toString('hex') ?? ''
const numberOf = (message: Message, field: number): number => Number(message.get(field)?.[0] ?? 0)

function readRequest(body: Buffer): ReceivedSpan[] {
  return messagesOf(readMessage(body), 1).flatMap((resourceSpans) => {
    const [resource = new Map()] = messagesOf(resourceSpans, 1)
    const attributes = readAttributes(resource, 1)
    return messagesOf(resourceSpans, 2).flatMap((scope) =>
      messagesOf(scope, 2).map((span) => readSpan(span, attributes)),
    )
  })
}

function readSpan(span: Message, resource: Attributes): ReceivedSpan {
  const [status = new Map()] = messagesOf(span, 15)
  return {
    traceId: hexOf(span, 1),
    spanId: hexOf(span, 2),
    parentSpanId: hexOf(span, 4),
    name: textOf(span, 5),
    kind: numberOf(span, 6),
    startMs: numberOf(span, 7) / 1e6,
    endMs: numberOf(span, 8) / 1e6,
    attributes: readAttributes(span, 9),
    events: messagesOf(span, 11).map((event) => ({
      name: textOf(event, 2),
      attributes: readAttributes(event, 3),
    })),
    links: messagesOf(span, 13).map((link) => ({
      traceId: hexOf(link, 1),
      spanId: hexOf(link, 2),
    })),
    status: { code: numberOf(status, 3), message: textOf(status, 2) },
    resource,
  }
}

function readAttributes(message: Message, field: number): Attributes {
  return Object.fromEntries(
    messagesOf(message, field).map((pair) => {
      const [value = new Map()] = messagesOf(pair, 2)
      return [textOf(pair, 1), readValue(value)]
    }),
  )
}

function readValue(value: Message): AttributeValue {
  if (value.has(1)) return textOf(value, 1)
  if (value.has(2)) return numberOf(value, 2) === 1
  if (value.has(3)) return numberOf(value, 3)
  if (value.has(4)) return undefined
  const [array = new Map()] = messagesOf(value, 5)
  return messagesOf(array, 1).map(readValue)
}

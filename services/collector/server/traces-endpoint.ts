import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { ingest } from './ingest.ts'
import type { Delivery, IngestDeps } from './ingest.ts'
import { MEDIA_TYPE, statusBody } from '../otlp/answer.ts'
import type { Encoding } from '../otlp/answer.ts'
import { grpcCodeOf } from '../otlp/grpc-codes.ts'
import { mediaType, noteRefusal } from '../otlp/refusals.ts'
import { CODINGS } from './inflate.ts'
import type { ContentCoding } from './inflate.ts'
import { declaredLength, readBody } from './request-body.ts'

/** Where traces are taken. */
export const TRACES = '/v1/traces'

/**
 * Takes the submissions that are addressed as exporters do it; returns false for any other request.
 * Waits for the end of the turn in which a head came: a small body has then come too, and is read
 * without listeners and a timer of its own.
 */
export function createTracesListener(
  deps: IngestDeps,
): (incoming: IncomingMessage, outgoing: ServerResponse) => boolean {
  let arrived: Exchange[] = []
  const takeArrived = (): void => {
    const exchanges = arrived
    arrived = []
    for (const exchange of exchanges) void takeTraces(deps, exchange)
  }
  return (incoming, outgoing) => {
    if (incoming.url !== TRACES || incoming.method !== 'POST') return false
    if (arrived.length === 0) setImmediate(takeArrived)
    arrived.push({ incoming, outgoing })
    return true
  }
}

/** Answers one submission (SPEC 4.6), whatever comes of it. */
export async function takeTraces(deps: IngestDeps, exchange: Exchange): Promise<void> {
  const { incoming, outgoing } = exchange
  const encoding = encodingOf(incoming)
  try {
    const body = await ingest(deps, httpDelivery(exchange, encoding))
    deps.metrics.requests.inc({ code: '200', encoding: encoding ?? 'none' })
    reply(outgoing, { status: 200, type: MEDIA_TYPE[encoding ?? 'json'], body })
  } catch (thrown) {
    refuse(deps, exchange, thrown)
  }
}

const ENCODINGS = Object.keys(MEDIA_TYPE) as Encoding[]

/** The encoding that the Content-Type names, whatever its parameters. */
export function encodingOf({ headers }: IncomingMessage): Encoding | undefined {
  const type = headers['content-type'] ?? ''
  if (type === MEDIA_TYPE.protobuf) return 'protobuf'
  const [mediaType = ''] = type.split(';')
  const name = mediaType.trim().toLowerCase()
  return ENCODINGS.find((encoding) => MEDIA_TYPE[encoding] === name)
}

function refuse(deps: IngestDeps, { incoming, outgoing }: Exchange, thrown: unknown): void {
  const { status, message, headers } = noteRefusal(deps, thrown)
  const known = encodingOf(incoming)
  deps.metrics.requests.inc({ code: String(status), encoding: known ?? 'none' })
  const encoding = known ?? 'json'
  reply(outgoing, {
    status,
    type: MEDIA_TYPE[encoding],
    body: statusBody(encoding, { code: grpcCodeOf(status), message }),
    headers: { ...headers, ...retryHeader(status), ...closeHeader(incoming) },
  })
}

/**
 * One second: the exporters give up when they are told to wait for longer than the rest of their
 * ten.
 */
export const retryHeader = (status: number): Record<string, string> =>
  status === 503 ? { 'retry-after': '1' } : {}

/**
 * A client that waits for "100 Continue" and gets an error instead may or may not send the body: do
 * not guess.
 */
function closeHeader(incoming: IncomingMessage): Record<string, string> {
  const isWaiting = incoming.headers.expect !== undefined && !incoming.complete
  return isWaiting ? { connection: 'close' } : {}
}

interface Reply {
  readonly status: number
  readonly type: string
  readonly body: Buffer | string
  readonly headers?: OutgoingHttpHeaders
}

function reply(outgoing: ServerResponse, { status, type, body, headers }: Reply): void {
  const length = Buffer.byteLength(body)
  outgoing.writeHead(status, { 'content-type': type, 'content-length': length, ...headers })
  outgoing.end(length === 0 ? undefined : body)
}

/**
 * A request of the raw HTTP server: the body is read from it without a detour through web streams.
 */
interface Exchange {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}

/** A submission over HTTP; `encoding` is undefined when its Content-Type is none of OTLP's. */
function httpDelivery({ incoming, outgoing }: Exchange, encoding: Encoding | undefined): Delivery {
  return {
    rawHeaders: incoming.rawHeaders,
    describe() {
      if (encoding) {
        return { encoding, coding: contentCoding(incoming), length: declaredLength(incoming) }
      }
      throw mediaType('Content-Type must be application/x-protobuf or application/json')
    },
    read(place, limits) {
      // A client that asked first gets its go-ahead only now (RFC 9110 section 10.1.1).
      if (incoming.headers.expect !== undefined) outgoing.writeContinue()
      return readBody(incoming, place, limits)
    },
  }
}

function contentCoding({ headers }: IncomingMessage): ContentCoding | undefined {
  const name = (headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (name === 'identity' || name === '') return undefined
  const coding = CODINGS.find((known) => known === name)
  if (!coding) throw mediaType(`Content-Encoding must be identity or one of ${CODINGS.join(', ')}`)
  return coding
}

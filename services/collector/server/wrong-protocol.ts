import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Log } from '../../shared/log.ts'
import type { CollectorMetrics } from '../observability/metrics.ts'

/** Metrics and log for wrong protocols. */
interface WrongProtocolOptions {
  readonly metrics: CollectorMetrics
  readonly log: Log
  /** Where gRPC is spoken; undefined when it is off. */
  readonly grpcPort: number | undefined
}

/** The code of Node's parser for the beginning of an HTTP/2 connection. */
const HTTP2 = 'HPE_PAUSED_H2_UPGRADE'
const HTTP_ADVICE = 'set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf'
const WARN_EVERY_MS = 60_000
const CLOSE_AFTER_MS = 1000

/** The answers of Node itself to what it cannot read, by the parser's code. */
const ANSWERS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/**
 * Tells exporters that speak gRPC what to set, in the words of HTTP/2, so that it shows in their
 * own log; and tells the operator, once a minute. Everything else that is not HTTP/1.1 is answered
 * as Node would.
 */
export function answerWrongProtocols(server: Server, options: WrongProtocolOptions): void {
  const { metrics, log } = options
  const advice = adviceFor(options)
  let quietUntil = 0
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // The parser complains again of all that comes after the answer.
    if (socket.writableEnded) return
    if (error.code !== HTTP2) return answerBadRequest(error, socket)
    metrics.refused.inc({ reason: 'grpc' })
    if (performance.now() >= quietUntil) {
      quietUntil = performance.now() + WARN_EVERY_MS
      log.warn({ remote_address: socket.remoteAddress }, `an exporter speaks gRPC; ${advice}`)
    }
    sendGoAway(socket, advice)
  })
}

const adviceFor = ({ grpcPort }: WrongProtocolOptions): string =>
  grpcPort === undefined
    ? `OTLP over HTTP only: ${HTTP_ADVICE}`
    : `OTLP over gRPC has port ${grpcPort}, this one is for HTTP: set that port in ` +
      `OTEL_EXPORTER_OTLP_ENDPOINT, or ${HTTP_ADVICE}`

function answerBadRequest({ code = '' }: NodeJS.ErrnoException, socket: Socket): void {
  if (code !== 'ECONNRESET' && socket.writable) {
    socket.write(`HTTP/1.1 ${ANSWERS[code] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`)
  }
  socket.destroy()
}

const SETTINGS = 4
const GOAWAY = 7
const HTTP_1_1_REQUIRED = 13

/** A frame of HTTP/2 for the connection as a whole (RFC 9113 section 4.1). */
function frame(type: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  return Buffer.concat([head, payload])
}

/** No stream was looked at, the reason, and the advice as the debug data. */
function sendGoAway(socket: Socket, advice: string): void {
  const payload = Buffer.alloc(8)
  payload.writeUInt32BE(HTTP_1_1_REQUIRED, 4)
  const goAway = frame(GOAWAY, Buffer.concat([payload, Buffer.from(advice)]))
  // What comes still is read and dropped: a reset could overtake the answer.
  socket.on('error', () => {}).resume()
  socket.end(Buffer.concat([frame(SETTINGS, Buffer.alloc(0)), goAway]))
  const timer = setTimeout(() => socket.destroy(), CLOSE_AFTER_MS)
  socket.once('close', () => clearTimeout(timer))
}

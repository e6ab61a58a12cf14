import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import { CODINGS } from '../inflate.ts'
import { statusBody } from '../../otlp/answer.ts'
import { GRPC_CODES } from '../../otlp/grpc-codes.ts'
import { PREFIX_BYTES } from './delivery.ts'

const HEAD = {
  ':status': 200,
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': ['identity', ...CODINGS].join(','),
} as const satisfies OutgoingHttpHeaders

const OK = { 'grpc-status': GRPC_CODES.ok }

/** Answers with one message, uncompressed, and the status OK. */
export function replyWith(stream: ServerHttp2Stream, message: Uint8Array): void {
  if (stream.destroyed || stream.headersSent) return
  const frame = Buffer.alloc(PREFIX_BYTES + message.length)
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, PREFIX_BYTES)
  stream.once('wantTrailers', () => stream.sendTrailers(OK))
  stream.respond(HEAD, { waitForTrailers: true })
  stream.end(frame)
}

/**
 * After this time a sender repeats what was unavailable. The exporters give up when they are told
 * to wait for longer than the rest of their ten seconds.
 */
const RETRY_AFTER_SECONDS = 1

/** Answers with a status other than OK; what is left of the request is not read. */
export function replyWithError(stream: ServerHttp2Stream, code: number, message: string): void {
  const isRetryable = code === GRPC_CODES.unavailable
  const retryAfterSeconds = isRetryable ? RETRY_AFTER_SECONDS : undefined
  const details = Buffer.from(statusBody('protobuf', { code, message, retryAfterSeconds }))
  endStream(stream, {
    ...HEAD,
    'grpc-status': code,
    'grpc-message': percentEncoded(message),
    'grpc-status-details-bin': details.toString('base64'),
    ...(isRetryable ? { 'grpc-retry-pushback-ms': RETRY_AFTER_SECONDS * 1000 } : {}),
  })
}

/** Answers a request that is no call of gRPC with a status of HTTP. */
export const replyWithStatus = (stream: ServerHttp2Stream, status: number): void =>
  endStream(stream, { ':status': status, ...(status === 405 ? { allow: 'POST' } : {}) })

function endStream(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void {
  if (stream.destroyed || stream.headersSent) return
  stream.respond(headers, { endStream: true })
  // A stream lives until all that has come was read.
  stream.resume()
  // Tells a sender that is still sending to stop (RFC 9113 section 8.1); once the headers are on
  // their way, before which Node 22.23 sends it.
  setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR))
}

/** A message as gRPC wants it in a header: printable ASCII without the percent sign. */
const percentEncoded = (message: string): string =>
  Buffer.from(message)
    .toString('latin1')
    .replace(/[^ -$&-~]/g, (byte) => `%${Buffer.from(byte, 'latin1').toString('hex')}`)

import {
  bytesField,
  explicitVarintField,
  messageField,
  protobufMessage,
} from './protobuf-writer.ts'
import type { ProtobufWriter } from './protobuf-writer.ts'

/** The two encodings of OTLP/HTTP; a response uses that of its request. */
export type Encoding = 'protobuf' | 'json'

export const MEDIA_TYPE = { protobuf: 'application/x-protobuf', json: 'application/json' } as const

const MAX_MESSAGE_CHARS = 1024

/**
 * An ExportTraceServiceResponse. Without a message, that is with nothing refused and nothing cut, `partial_success` is
 * absent, as OTLP demands.
 */
export function exportResponse(
  encoding: Encoding,
  refused: number,
  message: string,
): Buffer | string {
  const text = message.slice(0, MAX_MESSAGE_CHARS)
  if (encoding === 'json') {
    const partialSuccess = { rejectedSpans: String(refused), errorMessage: text }
    return text === '' ? '{}' : JSON.stringify({ partialSuccess })
  }
  if (text === '') return Buffer.alloc(0)
  return protobufMessage((to) =>
    messageField(to, 1, () => {
      bytesField(to, 2, text)
      explicitVarintField(to, 1, refused)
    }),
  )
}

const BAD_REQUEST_TYPE = 'type.googleapis.com/google.rpc.BadRequest'

/** A google.rpc.Status; a bad request carries a `BadRequest` detail. `code` is a gRPC code. */
export function statusBody(encoding: Encoding, code: number, message: string): Buffer | string {
  const text = message.slice(0, MAX_MESSAGE_CHARS)
  return encoding === 'json' ? jsonStatus(code, text) : protobufStatus(code, text)
}

const INVALID_ARGUMENT = 3

function jsonStatus(code: number, message: string): string {
  const details = [
    { '@type': BAD_REQUEST_TYPE, fieldViolations: [{ field: 'body', description: message }] },
  ]
  return JSON.stringify(code === INVALID_ARGUMENT ? { code, message, details } : { code, message })
}

function protobufStatus(code: number, message: string): Buffer {
  return protobufMessage((to) => {
    if (code === INVALID_ARGUMENT) messageField(to, 3, () => badRequest(to, message))
    bytesField(to, 2, message)
    explicitVarintField(to, 1, code)
  })
}

/** A google.protobuf.Any with one violation. */
function badRequest(to: ProtobufWriter, message: string): void {
  messageField(to, 2, () =>
    messageField(to, 1, () => {
      bytesField(to, 2, message)
      bytesField(to, 1, 'body')
    }),
  )
  bytesField(to, 1, BAD_REQUEST_TYPE)
}

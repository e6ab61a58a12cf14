import { GRPC_CODES } from './grpc-codes.ts'
import { ANSWER_TAGS as TAGS } from './tags.ts'

/** The two encodings of OTLP/HTTP; a response uses that of its request. */
export type Encoding = 'protobuf' | 'json'

/** The Content-Type of each encoding. */
export const MEDIA_TYPE = { protobuf: 'application/x-protobuf', json: 'application/json' } as const

const MAX_MESSAGE_CHARS = 1024

/**
 * An ExportTraceServiceResponse. Without a message, that is with nothing refused and nothing cut,
 * `partial_success` is absent, as OTLP demands.
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
    messageField(to, TAGS.response.partialSuccess, () => {
      bytesField(to, TAGS.partialSuccess.errorMessage, text)
      varintField(to, TAGS.partialSuccess.rejectedSpans, refused)
    }),
  )
}

const BAD_REQUEST_TYPE = 'type.googleapis.com/google.rpc.BadRequest'

const RETRY_INFO_TYPE = 'type.googleapis.com/google.rpc.RetryInfo'

/** The fields of a google.rpc.Status. */
interface Status {
  /** A gRPC code. */
  readonly code: number
  readonly message: string
  /** For senders over gRPC; those over HTTP have the header `Retry-After`. */
  readonly retryAfterSeconds?: number
}

/** A google.rpc.Status; a bad request carries a `BadRequest` detail. */
export function statusBody(encoding: Encoding, status: Status): Buffer | string {
  const message = status.message.slice(0, MAX_MESSAGE_CHARS)
  if (encoding === 'json') return jsonStatus(status.code, message)
  return protobufStatus({ ...status, message })
}

const { invalidArgument: INVALID_ARGUMENT } = GRPC_CODES

function jsonStatus(code: number, message: string): string {
  const details = [
    { '@type': BAD_REQUEST_TYPE, fieldViolations: [{ field: 'body', description: message }] },
  ]
  return JSON.stringify(code === INVALID_ARGUMENT ? { code, message, details } : { code, message })
}

function protobufStatus({ code, message, retryAfterSeconds }: Status): Buffer {
  return protobufMessage((to) => {
    const { details } = TAGS.status
    if (code === INVALID_ARGUMENT) messageField(to, details, () => badRequest(to, message))
    if (retryAfterSeconds !== undefined) {
      messageField(to, details, () => retryInfo(to, retryAfterSeconds))
    }
    bytesField(to, TAGS.status.message, message)
    varintField(to, TAGS.status.code, code)
  })
}

/** A google.protobuf.Any with one violation. */
function badRequest(to: ProtobufWriter, message: string): void {
  messageField(to, TAGS.any.value, () =>
    messageField(to, TAGS.badRequest.fieldViolations, () => {
      bytesField(to, TAGS.fieldViolation.description, message)
      bytesField(to, TAGS.fieldViolation.field, 'body')
    }),
  )
  bytesField(to, TAGS.any.typeUrl, BAD_REQUEST_TYPE)
}

/** A google.protobuf.Any with the time after which a sender repeats. */
function retryInfo(to: ProtobufWriter, seconds: number): void {
  messageField(to, TAGS.any.value, () =>
    messageField(to, TAGS.retryInfo.retryDelay, () =>
      varintField(to, TAGS.duration.seconds, seconds),
    ),
  )
  bytesField(to, TAGS.any.typeUrl, RETRY_INFO_TYPE)
}

/**
 * Protobuf written from its end to its beginning: the length of a message is known by the time its
 * head is written, so nothing is written twice. Fields are therefore given in reverse order.
 */
interface ProtobufWriter {
  bytes: Buffer
  /** The place where what is written begins; it reaches to the end of `bytes`. */
  from: number
}

const USUAL_BYTES = 256

/** The message whose fields `write` gives. */
function protobufMessage(write: (to: ProtobufWriter) => void): Buffer {
  const to = { bytes: Buffer.alloc(USUAL_BYTES), from: USUAL_BYTES }
  write(to)
  return to.bytes.subarray(to.from)
}

/** Makes room for `size` more bytes, and takes it; returns where it begins. */
function reserve(to: ProtobufWriter, size: number): number {
  if (size > to.from) {
    const more = to.bytes.length + size
    to.bytes = Buffer.concat([Buffer.alloc(more), to.bytes])
    to.from += more
  }
  to.from -= size
  return to.from
}

function varint(to: ProtobufWriter, value: number): void {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  let at = reserve(to, size)
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) to.bytes[at++] = (rest % 0x80) | 0x80
  to.bytes[at] = rest
}

/** A field of a message, whose own fields `write` gives; empty ones are written too. */
function messageField(to: ProtobufWriter, tag: number, write: () => void): void {
  const written = to.bytes.length - to.from
  write()
  varint(to, to.bytes.length - to.from - written)
  varint(to, tag)
}

/** A field of a string; empty ones are written too. */
function bytesField(to: ProtobufWriter, tag: number, value: string): void {
  messageField(to, tag, () => {
    // To make room may replace `to.bytes`.
    const at = reserve(to, Buffer.byteLength(value))
    to.bytes.write(value, at)
  })
}

/** A number that is not negative; 0 is written too. */
function varintField(to: ProtobufWriter, tag: number, value: number): void {
  varint(to, value)
  varint(to, tag)
}

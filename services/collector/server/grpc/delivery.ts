import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { AppError } from '../../../shared/errors.ts'
import { CODINGS } from '../inflate.ts'
import type { ContentCoding } from '../inflate.ts'
import type { Content, Delivery } from '../ingest.ts'
import { bodyStalled, clientGone, mediaType } from '../../otlp/refusals.ts'
import { readBody } from '../request-body.ts'

/** A call: its stream, and its metadata. */
export interface Call {
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[]
}

/** One byte that says if the message is compressed, and four with its length. */
export const PREFIX_BYTES = 5

const badMessage = (message: string): AppError => new AppError('invalid_request', message)

/**
 * A submission over gRPC: one message behind its prefix, whose length is known, and so is the
 * memory that it needs, before anything else of it is read.
 */
export function grpcDelivery({ stream, headers, rawHeaders }: Call, idleMs: number): Delivery {
  let length = 0
  return {
    rawHeaders,
    async describe() {
      const known = codingOf(headers)
      const content = readPrefix(await takePrefix(stream, idleMs), known)
      length = content.length
      return content
    },
    async read(place, limits) {
      // The end comes with the prefix when there is nothing behind it, and comes only once.
      const isOver = stream.readableEnded
      const message = isOver ? place.subarray(0, 0) : await readBody(stream, place, limits)
      if (message.length === length) return message
      limits.memory.give(message)
      throw badMessage('The body must be one message of the length in its prefix.')
    },
  }
}

/** The compression of messages that are flagged as compressed. */
function codingOf(headers: IncomingHttpHeaders): ContentCoding | undefined {
  const name = headers['grpc-encoding'] ?? 'identity'
  if (name === 'identity') return undefined
  const coding = CODINGS.find((known) => known === name)
  if (!coding) throw mediaType(`grpc-encoding must be identity or one of ${CODINGS.join(', ')}`)
  return coding
}

function readPrefix(
  prefix: Buffer,
  known: ContentCoding | undefined,
): Content & { readonly length: number } {
  if (prefix.length < PREFIX_BYTES) throw badMessage('The body has no message.')
  const flag = prefix.readUInt8(0)
  if (flag > 1) throw badMessage('The first byte of a message must be 0 or 1.')
  if (flag === 1 && !known) throw badMessage('A compressed message needs grpc-encoding.')
  const length = prefix.readUInt32BE(1)
  return { encoding: 'protobuf', coding: flag === 1 ? known : undefined, length }
}

/**
 * The first bytes of a stream, fewer when it ends before. Raises `unavailable` when they do not
 * come within `idleMs`, and `invalid_request` when the client disconnects.
 */
function takePrefix(stream: ServerHttp2Stream, idleMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const end = (outcome: Buffer | AppError): void => {
      clearTimeout(idle)
      stream.off('readable', onReadable).off('end', onEnd).off('close', onGone)
      if (Buffer.isBuffer(outcome)) resolve(outcome)
      else reject(outcome)
    }
    const onReadable = (): void => {
      const bytes: unknown = stream.read(PREFIX_BYTES)
      if (Buffer.isBuffer(bytes)) end(bytes)
    }
    const onEnd = (): void => end(Buffer.alloc(0))
    const onGone = (): void => end(clientGone())
    const idle = setTimeout(() => end(bodyStalled(idleMs)), idleMs)
    if (stream.readableEnded) onEnd()
    else if (stream.destroyed) onGone()
    else stream.on('readable', onReadable).on('end', onEnd).on('close', onGone)
  })
}

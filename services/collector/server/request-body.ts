import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { toError } from '../../shared/errors.ts'
import { enlarge } from '../otlp/memory.ts'
import type { Memory } from '../otlp/memory.ts'
import { moveBytes } from './move-bytes.ts'
import { bodyStalled, clientGone, tooLarge } from '../otlp/refusals.ts'

/** The size limit of a body, and the memory that it is kept in. */
export interface BodyLimits {
  readonly maxBytes: number
  /** The memory of bodies; whoever gets one gives it back. */
  readonly memory: Memory
}

/** The same, and the time that a body may stand still. */
export interface ReadLimits extends BodyLimits {
  readonly idleMs: number
}

/** The stream of a body; `complete` once all of it has come. */
type BodyStream = Readable & Partial<Pick<IncomingMessage, 'complete'>>

/** Room for the beginning of a body whose length is not declared. */
export const FIRST_BYTES = 64 * 1024

/** The declared length of the body in bytes; undefined for a chunked one. */
export function declaredLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

/** A larger buffer with the same first `used` bytes, in place of `bytes`. */
export function grow(
  bytes: Buffer,
  used: number,
  { needed, maxBytes, memory }: BodyLimits & { needed: number },
): Buffer {
  const size = Math.min(maxBytes, Math.max(bytes.length * 2, needed))
  return enlarge(memory, bytes, { used, size })
}

/**
 * Reads a body into `bytes`, or into larger memory in their place. Raises `payload_too_large` over
 * the limit, `unavailable` over the budget or when nothing comes for `idleMs`, and
 * `invalid_request` when the client disconnects; the memory is then given back. A small body that
 * has come already is returned at once.
 */
export function readBody(
  incoming: BodyStream,
  given: Buffer,
  limits: ReadLimits,
): Buffer | Promise<Buffer> {
  return takeWhole(incoming, given) ?? readChunks(incoming, given, limits)
}

/** Node reads so much from a socket at a time; it would join the pieces of more in new memory. */
const PIECE_BYTES = 64 * 1024

/** A body that lies in the stream as one piece that fits; undefined for any other. */
function takeWhole(incoming: BodyStream, given: Buffer): Buffer | undefined {
  const { complete, destroyed, readableLength } = incoming
  if (complete !== true || destroyed || readableLength === 0) return undefined
  if (readableLength > Math.min(given.length, PIECE_BYTES)) return undefined
  const bytes: unknown = incoming.read()
  return Buffer.isBuffer(bytes) ? given.subarray(0, moveBytes(bytes, given, 0)) : undefined
}

const copyBytes: typeof moveBytes = (chunk, to, at) => chunk.copy(to, at)

function readChunks(incoming: BodyStream, given: Buffer, limits: ReadLimits): Promise<Buffer> {
  const { idleMs } = limits
  // Those of HTTP/2 lie in memory that its session reads on in.
  const take = incoming.complete === undefined ? copyBytes : moveBytes
  let bytes = given
  let size = 0
  const keep = (chunk: Buffer): void => {
    if (size + chunk.length > limits.maxBytes) throw tooLarge(limits.maxBytes)
    if (size + chunk.length > bytes.length) {
      bytes = grow(bytes, size, { ...limits, needed: size + chunk.length })
    }
    size += take(chunk, bytes, size)
  }
  return new Promise((resolve, reject) => {
    let idle: NodeJS.Timeout | undefined
    const end = (error?: Error): void => {
      clearTimeout(idle)
      incoming.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone)
      if (!error) return resolve(bytes.subarray(0, size))
      limits.memory.give(bytes)
      reject(error)
    }
    const onData = (chunk: Buffer): void => {
      idle?.refresh()
      try {
        keep(chunk)
      } catch (thrown) {
        end(toError(thrown))
        // What is left of the body is read and dropped, so that the client gets to see the answer.
        incoming.resume()
      }
    }
    const onEnd = (): void => end()
    const onGone = (): void => end(clientGone())
    // The events of a client that has gone before anyone listened will not come again.
    if (incoming.destroyed) return onGone()
    // A large body may have come already, and needs no timer.
    if (!incoming.complete) idle = setTimeout(() => end(bodyStalled(idleMs)), idleMs)
    incoming.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone)
  })
}

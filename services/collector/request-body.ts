import type { IncomingMessage } from 'node:http'
import type { Lease } from './admission.ts'
import type { BufferPool } from './buffer-pool.ts'
import { clientGone, overBudget, tooLarge } from './refusals.ts'

export interface BodyLimits {
  readonly maxBytes: number
  /** Holds what has been read; grows before more is kept. */
  readonly lease: Lease
  /** Where the body's memory comes from; the caller gives it back. */
  readonly pool: BufferPool
}

const FIRST_BYTES = 64 * 1024

/** The declared length of the body in bytes; undefined for a chunked one. */
export function declaredLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

/** A buffer twice as large with the same first `size` bytes. */
export function grow(
  bytes: Buffer,
  size: number,
  { needed, maxBytes, lease, pool }: BodyLimits & { needed: number },
): Buffer {
  const capacity = Math.min(maxBytes, Math.max(bytes.length * 2, needed))
  if (!lease.resize(capacity)) throw overBudget()
  const bigger = pool.take(capacity)
  bytes.copy(bigger, 0, 0, size)
  pool.give(bytes)
  return bigger
}

/**
 * Reads a body into one buffer. Raises `payload_too_large` over the limit, `unavailable` over the budget and
 * `invalid_request` when the client goes away.
 */
export function readBody(incoming: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  // The events of a client that has gone before anyone listened will not come again.
  if (incoming.destroyed) return Promise.reject(clientGone())
  const declared = declaredLength(incoming)
  let bytes = limits.pool.take(declared ?? FIRST_BYTES)
  let size = 0
  const keep = (chunk: Buffer): void => {
    if (size + chunk.length > limits.maxBytes) throw tooLarge(limits.maxBytes)
    if (size + chunk.length > bytes.length) {
      bytes = grow(bytes, size, { ...limits, needed: size + chunk.length })
    }
    size += chunk.copy(bytes, size)
  }
  return new Promise((resolve, reject) => {
    const end = (error?: Error): void => {
      incoming.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone)
      if (error) reject(error)
      else resolve(bytes.subarray(0, size))
    }
    const onData = (chunk: Buffer): void => {
      try {
        keep(chunk)
      } catch (error) {
        end(error as Error)
        // What is left of the body is read and dropped, so that the client gets to see the answer.
        incoming.resume()
      }
    }
    const onEnd = (): void => end()
    const onGone = (): void => end(clientGone())
    incoming.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone)
  })
}

import * as zlib from 'node:zlib'
import type { Transform } from 'node:stream'
import { AppError, toError } from '../../shared/errors.ts'
import { freeMemory, moveBytes } from './move-bytes.ts'
import { overBudget, tooLarge } from '../otlp/refusals.ts'
import { grow } from './request-body.ts'
import type { BodyLimits } from './request-body.ts'

/** The compression of a body. */
export type ContentCoding = 'gzip' | 'deflate' | 'zstd'

/**
 * Inflated at once, on the event loop: three times cheaper than through a stream, and done within
 * milliseconds.
 */
const SMALL_BYTES = 4 << 20
/** Each is a turn of the event loop, which may be slow when bodies of this size come. */
const CHUNK_BYTES = 1 << 20

// `node:zlib` has zstd from Node 22.15 on.
const { createZstdDecompress } = zlib as unknown as { createZstdDecompress?: () => Transform }

/** The codings that this Node can inflate. */
export const CODINGS: readonly ContentCoding[] = createZstdDecompress
  ? ['gzip', 'deflate', 'zstd']
  : ['gzip', 'deflate']

/**
 * Inflates a body. The limit holds for what comes out (OTLP 1.11, "OTLP/HTTP Request"): a bomb is
 * given up as soon as it passes it. Raises as `readBody` does, and `invalid_request` for bytes that
 * are not of this coding.
 */
export type Inflate = (body: Buffer, coding: ContentCoding, limits: BodyLimits) => Promise<Buffer>

/**
 * Large bodies are inflated one after the other: all at once they would fill the memory, and none
 * would be finished.
 */
export function createInflate(): Inflate {
  const inTurn = createTurns()
  const inTurnForClaims = createTurns()
  return async (body, coding, limits) => {
    try {
      if (coding === 'gzip') {
        const claimed = claimedSize(body)
        if (claimed > limits.maxBytes) return await inTurnForClaims(() => refuse(body, limits))
        const small = claimed > SMALL_BYTES ? undefined : gunzipSmall(body, claimed, limits)
        if (small) return small
      }
      return await inTurn(() => inflateStreaming(body, coding, limits))
    } catch (thrown) {
      if (thrown instanceof AppError) throw thrown
      throw new AppError('invalid_request', `The body is not valid ${coding}.`, { cause: thrown })
    }
  }
}

/** Runs one task at a time, in the order in which they come. */
function createTurns(): <Result>(task: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const result = last.then(task)
    last = result.catch(() => {})
    return result
  }
}

/**
 * Refuses a body whose trailer claims more than is allowed. Of a gzip body that is true, but one
 * that is cut off, or that is something else, has any number there: so it is inflated, and the
 * output discarded, until either shows.
 */
async function refuse(body: Buffer, { maxBytes }: BodyLimits): Promise<never> {
  const stream = createInflater('gzip', body)
  stream.end(body)
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) break
  }
  throw tooLarge(maxBytes)
}

/**
 * Undefined when the result is larger than the trailer claims, as of a body with several members.
 */
function gunzipSmall(body: Buffer, claimed: number, { memory }: BodyLimits): Buffer | undefined {
  if (claimed === 0) return undefined
  try {
    // One byte more than claimed, or zlib would ask for a second buffer to learn that nothing is
    // left.
    const options = { chunkSize: Math.max(64, claimed + 1), maxOutputLength: claimed }
    const inflated = zlib.gunzipSync(body, options)
    const place = memory.take(inflated.length)
    if (!place) throw overBudget()
    inflated.copy(place)
    // A small one is in memory that Node shares out.
    if (inflated.buffer.byteLength === options.chunkSize) freeMemory(inflated.buffer)
    return place
  } catch (thrown) {
    const error = toError(thrown)
    if ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw error
  }
}

/** The size in the trailer of a gzip body; 0 when there is none. */
const claimedSize = (body: Buffer): number =>
  body.length >= 18 ? body.readUInt32LE(body.length - 4) : 0

async function inflateStreaming(
  body: Buffer,
  coding: ContentCoding,
  limits: BodyLimits,
): Promise<Buffer> {
  const { maxBytes, memory } = limits
  const expected = coding === 'gzip' ? claimedSize(body) : body.length * 4
  let bytes = memory.take(Math.min(maxBytes, Math.max(expected, CHUNK_BYTES)))
  if (!bytes) throw overBudget()
  let size = 0
  try {
    const stream = createInflater(coding, body)
    stream.end(body)
    // Leaving the loop destroys the stream.
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const needed = size + chunk.length
      if (needed > maxBytes) throw tooLarge(maxBytes)
      if (needed > bytes.length) bytes = grow(bytes, size, { ...limits, needed })
      size += moveBytes(chunk, bytes, size)
    }
  } catch (error) {
    memory.give(bytes)
    throw error
  }
  return memory.trim(bytes, size)
}

function createInflater(coding: ContentCoding, body: Buffer): Transform {
  if (coding === 'gzip') return zlib.createGunzip({ chunkSize: CHUNK_BYTES })
  if (coding === 'zstd' && createZstdDecompress) return createZstdDecompress()
  // "deflate" means a zlib stream (RFC 9110 section 8.4.1.2), but some senders leave its header
  // out.
  const isZlib = ((body[0] ?? 0) & 0x0f) === 8 && body.length > 1 && body.readUInt16BE(0) % 31 === 0
  const options = { chunkSize: CHUNK_BYTES }
  return isZlib ? zlib.createInflate(options) : zlib.createInflateRaw(options)
}

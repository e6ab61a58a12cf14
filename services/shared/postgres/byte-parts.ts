import { createHash } from 'node:crypto'

const PART_BYTES = 1024 * 1024

type Bytes = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/** The same bytes in parts of one size; the last may be smaller. */
export async function* partsOf(content: Bytes): AsyncGenerator<Buffer> {
  let chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of content) {
    chunks.push(chunk)
    size += chunk.length
    if (size < PART_BYTES) continue
    const whole = Buffer.concat(chunks)
    const end = size - (size % PART_BYTES)
    for (let at = 0; at < end; at += PART_BYTES) yield whole.subarray(at, at + PART_BYTES)
    chunks = [whole.subarray(end)]
    size -= end
  }
  if (size > 0) yield Buffer.concat(chunks)
}

interface PartStore {
  readonly bytesMax: number
  /** The error for a content that is longer. */
  readonly tooLarge: () => Error
  readonly store: (part: {
    readonly position: number
    readonly content: Buffer
  }) => Promise<unknown>
}

/** Stores a content part after part as it comes. Returns its size in bytes and its SHA-256. */
export async function storeParts(
  content: Bytes,
  { bytesMax, tooLarge, store }: PartStore,
): Promise<{ readonly size: number; readonly sha256: Buffer }> {
  const hash = createHash('sha256')
  let size = 0
  let position = 0
  for await (const part of partsOf(content)) {
    size += part.length
    if (size > bytesMax) throw tooLarge()
    hash.update(part)
    await store({ position, content: part })
    position += 1
  }
  return { size, sha256: hash.digest() }
}

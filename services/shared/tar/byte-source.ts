import { damagedTar } from './damaged-tar.ts'

/** Reads a stream of bytes in portions of any size. */
export interface ByteSource {
  /** The next bytes; undefined at the end of the stream. Raises when it ends within them. */
  take(size: number): Promise<Buffer | undefined>
  skip(size: number): Promise<void>
  /** The next bytes, as they come, once; `skip` drops those that nobody has read. */
  limited(size: number): { read(): AsyncGenerator<Buffer>; skip(): Promise<void> }
  close(): Promise<void>
}

/** Creates a reader of a stream; each piece of it is at most as large as the stream's own. */
export function createByteSource(bytes: AsyncIterable<Uint8Array>): ByteSource {
  const chunks = bytes[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  /** Up to so many bytes; none at the end. */
  async function next(size: number): Promise<Buffer> {
    while (rest.length === 0) {
      const { done, value } = await chunks.next()
      if (done) return rest
      rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    }
    const piece = rest.subarray(0, size)
    rest = rest.subarray(piece.length)
    return piece
  }

  /** So many bytes, once, however many of them are read at a time. */
  function limited(size: number) {
    let left = size
    async function* read(): AsyncGenerator<Buffer> {
      while (left > 0) {
        const piece = await next(left)
        if (piece.length === 0) throw damagedTar('it is cut off')
        left -= piece.length
        yield piece
      }
    }
    async function skip(): Promise<void> {
      for await (const _ of read());
    }
    return { read, skip }
  }

  return {
    limited,
    skip: (size) => limited(size).skip(),
    async take(size) {
      if (size === 0) return Buffer.alloc(0)
      const first = await next(size)
      if (first.length === 0) return undefined
      const pieces = [first]
      for await (const piece of limited(size - first.length).read()) pieces.push(piece)
      return pieces.length === 1 ? first : Buffer.concat(pieces)
    },
    async close() {
      await chunks.return?.()
    },
  }
}

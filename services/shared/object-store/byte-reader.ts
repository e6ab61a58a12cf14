/** Reads a stream of chunks of any size in portions of a wanted size. */
interface ByteReader {
  /** The next bytes: fewer than `size` only at the end. */
  upTo(size: number): Promise<Buffer>
  isAtEnd(): Promise<boolean>
}

/** Reads no further ahead than one chunk. */
export function createByteReader(source: AsyncIterable<Buffer>): ByteReader {
  const chunks = source[Symbol.asyncIterator]()
  let kept: Buffer[] = []
  let size = 0
  let isOver = false

  async function fill(wanted: number): Promise<void> {
    while (size < wanted && !isOver) {
      const next = await chunks.next()
      if (next.done) isOver = true
      else {
        kept.push(next.value)
        size += next.value.length
      }
    }
  }

  return {
    async upTo(wanted) {
      await fill(wanted)
      const [only] = kept
      const all = only && kept.length === 1 ? only : Buffer.concat(kept)
      const rest = all.subarray(wanted)
      kept = [rest]
      size = rest.length
      return all.subarray(0, wanted)
    },
    async isAtEnd() {
      await fill(1)
      return size === 0
    },
  }
}

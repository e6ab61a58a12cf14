/**
 * Large buffers that serve again. Left to the garbage collector, the buffers of a busy collector would pile up to
 * several times what is in use before it looks at them.
 */
export interface BufferPool {
  /** A buffer of at least `size` bytes, with anything in them. */
  take(size: number): Buffer
  /** Takes back a buffer, or a part of one, that nobody reads or writes any more. */
  give(buffer: Buffer): void
}

/** Smaller ones are cheaper to allocate than to look for. */
const SMALL_BYTES = 64 * 1024

/** Keeps up to `maxBytes` of buffers that are not in use. */
export function createBufferPool(maxBytes: number): BufferPool {
  const free: Buffer[] = []
  let kept = 0
  return {
    take(size) {
      if (size < SMALL_BYTES) return Buffer.allocUnsafe(size)
      // Not one that is much too large: its memory counts for `size` only.
      const place = free.findIndex(({ length }) => length >= size && length <= size * 1.5)
      const [found] = place < 0 ? [] : free.splice(place, 1)
      if (!found) return Buffer.allocUnsafeSlow(size)
      kept -= found.length
      return found
    },
    give({ buffer }) {
      if (buffer.byteLength < SMALL_BYTES) return
      free.push(Buffer.from(buffer))
      kept += buffer.byteLength
      // The ones that have waited longest are of sizes that are no longer asked for.
      while (kept > maxBytes) kept -= free.shift()?.length ?? kept
    },
  }
}

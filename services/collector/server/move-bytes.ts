/** From Node 22 on; with older ones memory waits for the garbage collector. */
const transfer: unknown = Reflect.get(ArrayBuffer.prototype, 'transfer')

/**
 * Gives memory back at once, of which nobody reads anything again. What the garbage collector has
 * not noticed counts as in use: with 128 MB of bodies a second it would go through everything six
 * times a second, and take a third of the processor time of the collector.
 */
export function freeMemory(memory: ArrayBufferLike): void {
  if (typeof transfer === 'function' && memory instanceof ArrayBuffer) transfer.call(memory, 0)
}

/** Smaller ones are soon gone with the objects around them, and to free them costs more. */
const WORTHWHILE_BYTES = 16 * 1024

/**
 * Copies a chunk, which is not to be read again, to a place; returns its length. Its memory is
 * given back, unless the chunk is a view of something larger, which others see too.
 */
export function moveBytes(chunk: Buffer, to: Buffer, at: number): number {
  const length = chunk.copy(to, at)
  const isAll = chunk.buffer.byteLength === length
  if (isAll && length >= WORTHWHILE_BYTES) freeMemory(chunk.buffer)
  return length
}

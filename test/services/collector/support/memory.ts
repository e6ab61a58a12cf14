import type { Allocator } from '../../../../services/collector/otlp/memory.ts'

/** A copy of the bytes in the memory. Raises an error when it has no room for them. */
export function takeCopy(memory: Allocator, bytes: Buffer): Buffer {
  const copy = memory.take(bytes.length)
  if (!copy) throw new Error(`The memory has no room for ${bytes.length} bytes.`)
  bytes.copy(copy)
  return copy
}

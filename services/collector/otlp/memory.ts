import { overBudget } from './refusals.ts'
import { createBlock } from './web-assembly.ts'
import type { SharedBlock } from './web-assembly.ts'

/**
 * The memory of all requests, from the first byte of a body to the commit of its rows. It is one
 * block, so its size is the limit: nothing is counted that is not there, and nothing waits for the
 * garbage collector, which notices large buffers late. Pages that were never written cost nothing.
 */
export interface Memory extends Allocator {
  readonly capacity: number
  /** All of it. The first `RESERVED_BYTES` belong to the WebAssembly modules that work in it. */
  readonly block: SharedBlock
  /** Bytes handed out. */
  used(): number
  /**
   * As `take`, from the other end: bodies come and go while the rows that are made of them may
   * stay.
   */
  takeForBody(size: number): Buffer | undefined
}

/** Hands out buffers and takes them back. */
export interface Allocator {
  /**
   * A buffer of `size` bytes with anything in them; undefined when they are not to be had in one
   * piece.
   */
  take(size: number): Buffer | undefined
  /**
   * Takes back all but the first `size` bytes of a buffer, which is not to be used again; returns
   * those.
   */
  trim(buffer: Buffer, size: number): Buffer
  /**
   * Takes back a buffer, or the beginning of one, that nobody reads or writes any more. Ignores
   * other memory.
   */
  give(buffer: Buffer): void
}

/** Memory that the garbage collector takes back, for small things. */
export const HEAP: Allocator = {
  take: (size) => Buffer.allocUnsafeSlow(size),
  trim: (buffer, size) => buffer.subarray(0, size),
  give: () => {},
}

/**
 * A buffer of `size` bytes with the same first `used` ones, in place of `bytes`. Raises
 * `unavailable` without room.
 */
export function enlarge(
  memory: Allocator,
  bytes: Buffer,
  { used, size }: { used: number; size: number },
): Buffer {
  const bigger = memory.take(size)
  if (!bigger) throw overBudget()
  bytes.copy(bigger, 0, 0, used)
  memory.give(bytes)
  return bigger
}

/** Lets the work have a buffer, and gives that back whatever comes of it. */
export function lend<Result>(
  memory: Allocator,
  buffer: Buffer,
  work: (buffer: Buffer) => Result,
): Result {
  try {
    return work(buffer)
  } finally {
    memory.give(buffer)
  }
}

interface Gap {
  from: number
  end: number
}

const ALIGNMENT = 64

const aligned = (size: number): number => Math.ceil(size / ALIGNMENT) * ALIGNMENT

/** Bytes at the beginning of the block that belong to the transcoder. */
export const RESERVED_FOR_ROWS = 131_328
/** Bytes there that are never handed out: behind the transcoder's are those of the rewriter. */
export const RESERVED_BYTES = RESERVED_FOR_ROWS + 20_480
/** Bytes behind the last buffer: texts are read in blocks, also beyond their ends. */
const SPARE_BYTES = 64

/** A memory of which `capacity` bytes can be handed out. */
export function createMemory(capacity: number): Memory {
  const shared = createBlock(RESERVED_BYTES + capacity + SPARE_BYTES)
  const block = shared.buffer
  const first = aligned(RESERVED_BYTES)
  const gaps: Gap[] = [{ from: first, end: first + capacity - (capacity % ALIGNMENT) }]
  /** Size by place. */
  const taken = new Map<number, number>()
  let used = 0
  const takeBy = (find: typeof takeLow, size: number): Buffer | undefined => {
    const needed = Math.max(ALIGNMENT, aligned(size))
    const from = find(gaps, needed)
    if (from === undefined) return undefined
    taken.set(from, needed)
    used += needed
    return Buffer.from(block, from, size)
  }
  const takeBack = (from: number, size: number): void => {
    used -= size
    insertGap(gaps, { from, end: from + size })
  }
  return {
    capacity,
    block: shared,
    used: () => used,
    take: (size) => takeBy(takeHigh, size),
    takeForBody: (size) => takeBy(takeLow, size),
    trim(buffer, size) {
      const from = buffer.byteOffset
      const had = taken.get(from) ?? 0
      const kept = Math.max(ALIGNMENT, aligned(size))
      if (buffer.buffer !== block || kept >= had) return buffer.subarray(0, size)
      taken.set(from, kept)
      takeBack(from + kept, had - kept)
      return buffer.subarray(0, size)
    },
    give({ buffer, byteOffset }) {
      const size = taken.get(byteOffset)
      if (buffer !== block || size === undefined) return
      taken.delete(byteOffset)
      takeBack(byteOffset, size)
    },
  }
}

/** The place of `size` bytes in the first gap that has them. */
function takeLow(gaps: Gap[], size: number): number | undefined {
  const place = gaps.findIndex(({ from, end }) => end - from >= size)
  const gap = gaps[place]
  if (!gap) return undefined
  const { from } = gap
  gap.from += size
  if (gap.from === gap.end) gaps.splice(place, 1)
  return from
}

/** The place of `size` bytes at the end of the last gap that has them. */
function takeHigh(gaps: Gap[], size: number): number | undefined {
  const place = gaps.findLastIndex(({ from, end }) => end - from >= size)
  const gap = gaps[place]
  if (!gap) return undefined
  gap.end -= size
  if (gap.from === gap.end) gaps.splice(place, 1)
  return gap.end
}

/** Keeps the gaps in order, and joins neighbours. */
function insertGap(gaps: Gap[], gap: Gap): void {
  let low = 0
  for (let high = gaps.length; low < high;) {
    const middle = (low + high) >> 1
    if ((gaps[middle]?.from ?? 0) < gap.from) low = middle + 1
    else high = middle
  }
  const before = gaps[low - 1]
  const after = gaps[low]
  if (after?.from === gap.end) {
    gap.end = after.end
    gaps.splice(low, 1)
  }
  if (before?.end === gap.from) before.end = gap.end
  else gaps.splice(low, 0, gap)
}

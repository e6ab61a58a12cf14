import { enlarge } from '../../otlp/memory.ts'
import type { Memory } from '../../otlp/memory.ts'
import { overBudget } from '../../otlp/refusals.ts'
import {
  createRowBuffer,
  noteIdentity,
  noteRow,
  releaseRows,
  truncateRows,
} from '../../otlp/row-buffer.ts'
import type { RowBuffer } from '../../otlp/row-buffer.ts'

/** The rows of many requests that are committed together. */
export interface Batch {
  readonly buffer: RowBuffer
  readonly entries: Entry[]
  readonly openedAt: number
  /**
   * Holds requests that came before: they go the careful way, and do not spoil a batch of fresh
   * ones.
   */
  readonly isRepeat: boolean
}

/** The rows of one request in a batch. */
interface Entry {
  readonly firstRow: number
  readonly endRow: number
  readonly settle: (rejected: number) => void
}

/** The rows that are not yet written. */
export interface QueueState {
  readonly rows: number
  readonly bytes: number
  /** The arrival of the oldest row that is not yet written, in milliseconds since 1970. */
  readonly oldest: number | undefined
}

/** Batches that are filled by requests and taken by writers. */
interface BatchQueue {
  /**
   * A batch that takes rows, with room for `bytes` of them; more make it grow. Raises
   * `unavailable`.
   */
  open(isRepeat: boolean, bytes: number): Batch
  /**
   * Rows of a request were added to the batch. Resolves, when they are written, to how many were
   * rejected.
   */
  add(batch: Batch, rows: number): Promise<number>
  /** A request brought no rows after all. */
  leave(batch: Batch): void
  /** The next batch, as soon as there is one; undefined when the queue is closed and empty. */
  take(): Promise<Batch | undefined>
  /** The batch is written, but for the rows that the database refused. */
  finish(batch: Batch, rejectedRows: readonly number[]): void
  close(): void
  state(): QueueState
}

/** The size of a full batch, and the memory of its rows. */
interface QueueLimits {
  readonly maxRows: number
  readonly maxBytes: number
  readonly memory: Memory
  readonly now: () => number
}

/**
 * Writers of JSON ask for six times the length of a string, of which there may be up to this much.
 */
const SLACK_BYTES = 1.6 * 2 ** 20

/**
 * Batches in the order in which they came. A batch is closed when it is full, or when a writer is
 * free to take it.
 */
export function createBatchQueue({ maxRows, maxBytes, memory, now }: QueueLimits): BatchQueue {
  const unwritten = new Set<Batch>()
  const full: Batch[] = []
  const opened = new Map<boolean, Batch>()
  /** It takes no more rows: the memory that it did not need serves others. */
  const closeBatch = (batch: Batch): Batch => {
    const { buffer } = batch
    if (opened.get(batch.isRepeat) === batch) opened.delete(batch.isRepeat)
    buffer.bytes = memory.trim(buffer.bytes, buffer.end)
    return batch
  }
  const takers = createTakers((): Batch | undefined => {
    const batch = [...opened.values()].find(({ entries }) => entries.length > 0)
    return full.shift() ?? (batch && closeBatch(batch))
  })
  return {
    open(isRepeat, bytes) {
      const found = opened.get(isRepeat)
      if (found && found.buffer.end + bytes <= found.buffer.bytes.length) return found
      if (found) full.push(closeBatch(found))
      const buffer = takeBuffer(memory, [Math.max(bytes, maxBytes) + SLACK_BYTES, bytes])
      const batch = { buffer, entries: [], openedAt: now(), isRepeat }
      opened.set(isRepeat, batch)
      return batch
    },
    add(batch, rows) {
      const { buffer, entries } = batch
      unwritten.add(batch)
      if (buffer.rows >= maxRows || buffer.end >= maxBytes) full.push(closeBatch(batch))
      takers.wake()
      return new Promise((settle) => {
        entries.push({ firstRow: buffer.rows - rows, endRow: buffer.rows, settle })
      })
    },
    leave(batch) {
      if (batch.entries.length === 0) releaseRows(closeBatch(batch).buffer)
    },
    take: () => takers.wait(),
    finish(batch, rejectedRows) {
      unwritten.delete(batch)
      settleEntries(batch, rejectedRows)
      releaseRows(batch.buffer)
    },
    close: () => takers.close(),
    state: () => stateOf(unwritten),
  }
}

/** A buffer of the first of these sizes that is to be had. */
function takeBuffer(memory: Memory, sizes: readonly number[]): RowBuffer {
  for (const size of sizes) {
    const bytes = memory.take(Math.ceil(size))
    if (bytes) return createRowBuffer(bytes, memory)
  }
  throw overBudget()
}

/** The writers that wait for a batch, first come first served. */
function createTakers(next: () => Batch | undefined) {
  const waiting: ((batch: Batch | undefined) => void)[] = []
  let isClosed = false
  let isScheduled = false
  const serve = (): void => {
    isScheduled = false
    while (waiting.length > 0) {
      const batch = next()
      if (!batch && !isClosed) return
      waiting.shift()?.(batch)
    }
  }
  // Requests of one turn of the event loop share a batch, so that a burst costs one commit.
  const wake = (): void => {
    if (!isScheduled) setImmediate(serve)
    isScheduled = true
  }
  return {
    wake,
    wait: (): Promise<Batch | undefined> =>
      new Promise((resolve) => {
        waiting.push(resolve)
        wake()
      }),
    close(): void {
      isClosed = true
      wake()
    },
  }
}

function settleEntries({ entries }: Batch, rejectedRows: readonly number[]): void {
  for (const { firstRow, endRow, settle } of entries) {
    settle(rejectedRows.filter((row) => row >= firstRow && row < endRow).length)
  }
}

function stateOf(unwritten: ReadonlySet<Batch>): QueueState {
  let rows = 0
  let bytes = 0
  let oldest: number | undefined
  for (const { buffer, openedAt } of unwritten) {
    rows += buffer.rows
    bytes += buffer.end
    oldest ??= openedAt
  }
  return { rows, bytes, oldest }
}

/** Moves the rows of `source` from `first` on to the end of `target`. */
export function moveRows(source: RowBuffer, first: number, target: RowBuffer): void {
  for (const identity of source.identities) noteIdentity(target, identity)
  const from = source.offsets[first] ?? source.end
  const size = source.end - from
  const { bytes, end, memory } = target
  if (end + size > bytes.length)
    target.bytes = enlarge(memory, bytes, { used: end, size: end + size })
  for (let row = first; row < source.rows; row++) {
    const offset = (source.offsets[row] ?? 0) - from + target.end
    noteRow(target, offset, source.startTimes[row] ?? 0)
  }
  source.bytes.copy(target.bytes, target.end, from, source.end)
  target.end += size
  truncateRows(source, first, from)
}

import type { Lease } from '../admission.ts'
import type { BufferPool } from '../buffer-pool.ts'
import { createRowBuffer, noteRow, truncateRows } from '../otlp/row-buffer.ts'
import type { RowBuffer } from '../otlp/row-buffer.ts'

/** The rows of many requests that are committed together. */
export interface Batch {
  readonly buffer: RowBuffer
  readonly entries: Entry[]
  readonly openedAt: number
  /** Holds requests that came before: they go the careful way, and do not spoil a batch of fresh ones. */
  readonly isRepeat: boolean
}

/** The rows of one request in a batch. */
interface Entry {
  readonly firstRow: number
  readonly endRow: number
  readonly lease: Lease
  readonly settle: (rejected: number) => void
}

export interface QueueState {
  readonly rows: number
  readonly bytes: number
  /** When the oldest row that is not yet written came, in milliseconds since 1970. */
  readonly oldest: number | undefined
}

export interface BatchQueue {
  /** A batch that takes rows, with room for `bytes` of them; more make it grow. */
  open(isRepeat: boolean, bytes: number): Batch
  /** Rows of a request were added to the batch. Resolves, when they are written, to how many were rejected. */
  add(batch: Batch, rows: number, lease: Lease): Promise<number>
  /** The next batch, as soon as there is one; undefined when the queue is closed and empty. */
  take(): Promise<Batch | undefined>
  /** The batch is written; `isRejected` tells which rows the database refused. */
  finish(batch: Batch, rejectedRows: readonly number[]): void
  close(): void
  state(): QueueState
}

export interface QueueLimits {
  readonly maxRows: number
  readonly maxBytes: number
  readonly pool: BufferPool
  readonly now: () => number
}

/** A buffer that had to grow would hold more memory than its rows are counted for. */
const hasRoom = ({ bytes, end }: RowBuffer, more: number): boolean => end + more <= bytes.length

/** Batches in the order in which they came. A batch is closed when it is full, or when a writer is free to take it. */
export function createBatchQueue({ maxRows, maxBytes, pool, now }: QueueLimits): BatchQueue {
  const unwritten = new Set<Batch>()
  const full: Batch[] = []
  const opened = new Map<boolean, Batch>()
  const takers = createTakers((): Batch | undefined => {
    const batch = full.shift() ?? [...opened.values()].find(({ entries }) => entries.length > 0)
    if (batch && opened.get(batch.isRepeat) === batch) opened.delete(batch.isRepeat)
    return batch
  })
  return {
    open(isRepeat, bytes) {
      const found = opened.get(isRepeat)
      if (found && hasRoom(found.buffer, bytes)) return found
      if (found && found.entries.length > 0) full.push(found)
      const memory = pool.take(Math.max(bytes, maxBytes))
      const batch = { buffer: createRowBuffer(memory), entries: [], openedAt: now(), isRepeat }
      opened.set(isRepeat, batch)
      return batch
    },
    add(batch, rows, lease) {
      const { buffer, entries, isRepeat } = batch
      unwritten.add(batch)
      if (buffer.rows >= maxRows || buffer.end >= maxBytes) {
        opened.delete(isRepeat)
        full.push(batch)
      }
      takers.wake()
      return new Promise((settle) => {
        entries.push({ firstRow: buffer.rows - rows, endRow: buffer.rows, lease, settle })
      })
    },
    take: () => takers.wait(),
    finish(batch, rejectedRows) {
      unwritten.delete(batch)
      settleEntries(batch, rejectedRows)
      pool.give(batch.buffer.bytes)
    },
    close: () => takers.close(),
    state: () => stateOf(unwritten),
  }
}

/** Those who wait for a batch, first come first served. */
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
  for (const { firstRow, endRow, lease, settle } of entries) {
    lease.release()
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
  const from = source.offsets[first] ?? source.end
  const size = source.end - from
  if (target.end + size > target.bytes.length) {
    const bigger = Buffer.allocUnsafeSlow(Math.max(target.bytes.length * 2, target.end + size))
    target.bytes.copy(bigger, 0, 0, target.end)
    target.bytes = bigger
  }
  for (let row = first; row < source.rows; row++) {
    const offset = (source.offsets[row] ?? 0) - from + target.end
    noteRow(target, offset, source.startTimes[row] ?? 0)
  }
  source.bytes.copy(target.bytes, target.end, from, source.end)
  target.end += size
  for (const identity of source.identities) target.identities.add(identity)
  truncateRows(source, first, from)
}

import type { Lease } from '../admission.ts'
import type { BufferPool } from '../buffer-pool.ts'
import { overBudget, unavailable } from '../refusals.ts'
import { truncateRows } from '../otlp/row-buffer.ts'
import type { Transcode, Transcript, Window } from '../otlp/transcode.ts'
import { createBatchQueue, moveRows } from './batch-queue.ts'
import type { QueueState } from './batch-queue.ts'
import { createSeenRequests } from './seen-requests.ts'
import type { Writer, Written } from './writer.ts'

/** A request whose rows are in memory, and the promise of what the database made of them. */
export interface Submission {
  readonly transcript: Transcript
  /** How many of its rows the database refused. Stays pending while the database is away. */
  readonly settled: Promise<number>
}

export interface GroupCommitOptions {
  readonly transcode: Transcode
  readonly pool: BufferPool
  readonly writers: readonly Writer[]
  readonly window: () => Window
  readonly onWritten: (written: Written, facts: { rows: number; seconds: number }) => void
  readonly now: () => number
  /** A batch is full when it has this many rows, or bytes. @default 4096 */
  readonly maxRows?: number
  /** @default 8 MiB */
  readonly maxBytes?: number
}

export interface GroupCommit {
  /** Raises `invalid_request` for a bad body, `unavailable` when the rows do not fit the memory. */
  submit(body: Buffer, lease: Lease): Submission
  state(): QueueState
  /** Takes no more; resolves when all rows are written. */
  drain(): Promise<void>
}

const MAX_ROWS = 4096
const MAX_BYTES = 8 << 20
/** Rows are larger than the protobuf they come from, by this factor for small spans. */
const ROWS_PER_BODY = 1.5

/**
 * Collects the rows of many requests into one commit (SPEC 2.6: `memory_batch`). There is no timer: a writer that is
 * free takes what is there, so batches grow only while the database is busy.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { transcode, pool, now, maxRows = MAX_ROWS, maxBytes = MAX_BYTES } = options
  const queue = createBatchQueue({ maxRows, maxBytes, pool, now })
  const isSeen = createSeenRequests()
  let draining = false

  const runWriter = async (writer: Writer): Promise<void> => {
    for (let batch = await queue.take(); batch; batch = await queue.take()) {
      const { buffer, isRepeat } = batch
      const started = performance.now()
      const written = await writer.write(buffer, { isRepeat })
      const seconds = (performance.now() - started) / 1000
      options.onWritten(written, { rows: buffer.rows, seconds })
      queue.finish(
        batch,
        written.rejected.map(({ row }) => row),
      )
    }
  }
  const finished = Promise.all(options.writers.map(runWriter))

  return {
    submit(body, lease) {
      if (draining) throw unavailable('draining', 'The collector is stopping.')
      const fresh = queue.open(false, Math.ceil(body.length * ROWS_PER_BODY))
      const { rows, end } = fresh.buffer
      const transcript = transcode(body, fresh.buffer, options.window())
      if (!lease.resize(fresh.buffer.end - end)) {
        truncateRows(fresh.buffer, rows, end)
        throw overBudget()
      }
      if (transcript.rows === 0) return { transcript, settled: Promise.resolve(0) }
      if (!isSeen(fresh.buffer, rows)) {
        return { transcript, settled: queue.add(fresh, transcript.rows, lease) }
      }
      const repeat = queue.open(true, fresh.buffer.end - end)
      moveRows(fresh.buffer, rows, repeat.buffer)
      return { transcript, settled: queue.add(repeat, transcript.rows, lease) }
    },
    state: () => queue.state(),
    async drain() {
      draining = true
      queue.close()
      await finished
    },
  }
}

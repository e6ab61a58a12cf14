import type { Memory } from '../../otlp/memory.ts'
import { unavailable } from '../../otlp/refusals.ts'
import type { RequestFacts, Transcode, Transcript } from '../../otlp/transcode.ts'
import { rowOffset, truncateRows } from '../../otlp/row-buffer.ts'
import { createBatchQueue, moveRows } from './batch-queue.ts'
import type { Batch, QueueState } from './batch-queue.ts'
import type { Writer, Written } from './writer.ts'
import type { RowBuffer } from '../../otlp/row-buffer.ts'
import { rowKey } from './sorted-rows.ts'

const REMEMBERED_MAX = 65_536
const FORGOTTEN_AT_ONCE = REMEMBERED_MAX / 8

/** A request whose rows are in memory, and the promise of what the database made of them. */
export interface Submission {
  readonly transcript: Transcript
  /**
   * The number of its rows that the database refused. Stays pending while the database is
   * unavailable.
   */
  readonly settled: Promise<number>
}

/** How a body is written, and the organization of its spans; without one, the platform's own. */
export type SubmissionFacts = Pick<RequestFacts, 'encoding' | 'organization'>

interface GroupCommitOptions {
  readonly transcode: Transcode
  readonly memory: Memory
  readonly writers: readonly Writer[]
  /** The starts that spans may have now. */
  readonly window: () => Omit<RequestFacts, keyof SubmissionFacts>
  readonly onWritten: (written: Written, facts: { rows: number; seconds: number }) => void
  readonly now: () => number
  /** A batch is full when it has this many rows, or bytes. @default 4096 */
  readonly maxRows?: number
  /** @default 4 MiB, or an eighth of a small memory */
  readonly maxBytes?: number
}

/** Takes requests and commits their rows together. */
export interface GroupCommit {
  /**
   * Takes the spans of a body. Raises `invalid_request` for a bad one, `unavailable` when the rows
   * do not fit the memory.
   */
  submit(body: Buffer, facts: SubmissionFacts): Submission
  state(): QueueState
  /** Takes no more; resolves when all rows are written. */
  drain(): Promise<void>
}

const MAX_ROWS = 4096
const MAX_BYTES = 4 << 20
/** Rows are larger than the protobuf they come from, by this factor for small spans. */
const ROWS_PER_BODY = 1.5

/**
 * Collects the rows of many requests into one commit (SPEC 2.6: `memory_batch`). There is no timer:
 * a writer that is free takes what is there, so batches grow only while the database is busy.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { transcode, memory, now, maxRows = MAX_ROWS } = options
  const { maxBytes = Math.min(MAX_BYTES, memory.capacity >> 3) } = options
  const queue = createBatchQueue({ maxRows, maxBytes, memory, now })
  const isSeen = createSeenRequests()
  let draining = false

  const runWriter = async (writer: Writer): Promise<void> => {
    for (let batch = await queue.take(); batch; batch = await queue.take()) {
      const { buffer, isRepeat, entries } = batch
      const started = performance.now()
      const written = await writer.write(buffer, { isRepeat, requests: entries })
      const seconds = (performance.now() - started) / 1000
      options.onWritten(written, { rows: buffer.rows, seconds })
      queue.finish(
        batch,
        written.rejected.map(({ row }) => row),
      )
    }
  }
  const finished = Promise.all(options.writers.map(runWriter))
  /** Requests that came before go the careful way, and do not spoil a batch of fresh ones. */
  const moveToRepeats = ({ buffer }: Batch, first: number): Batch => {
    const repeats = queue.open(true, buffer.end - rowOffset(buffer, first))
    moveRows(buffer, first, repeats.buffer)
    return repeats
  }

  return {
    submit(body, submitted) {
      if (draining) throw unavailable('draining', 'The collector is stopping.')
      const fresh = queue.open(false, Math.ceil(body.length * ROWS_PER_BODY))
      const { rows, end } = fresh.buffer
      try {
        const facts = { ...options.window(), ...submitted }
        const transcript = transcode(body, fresh.buffer, facts)
        if (transcript.rows === 0) return { transcript, settled: Promise.resolve(0) }
        const batch = isSeen(fresh.buffer, rows) ? moveToRepeats(fresh, rows) : fresh
        return { transcript, settled: queue.add(batch, transcript.rows) }
      } catch (error) {
        truncateRows(fresh.buffer, rows, end)
        throw error
      } finally {
        queue.leave(fresh)
      }
    },
    state: () => queue.state(),
    async drain() {
      draining = true
      queue.close()
      await finished
    },
  }
}

/**
 * Tells whether a request that begins with this row came before, by the ids of its first span and
 * whose it is. A client that gets no answer sends the same bytes again; knowing that saves a commit
 * that would fail. Two requests whose keys are equal by chance are no harm: the second goes the
 * careful way.
 */
function createSeenRequests(): (buffer: RowBuffer, row: number) => boolean {
  const seen = new Set<number>()
  return (buffer, row) => {
    const key = rowKey(buffer, row)
    if (seen.has(key)) return true
    seen.add(key)
    if (seen.size > REMEMBERED_MAX) forget(seen)
    return false
  }
}

function forget(seen: Set<number>): void {
  let left = FORGOTTEN_AT_ONCE
  for (const key of seen) {
    if (left-- === 0) return
    seen.delete(key)
  }
}

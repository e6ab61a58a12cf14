import { setTimeout as sleep } from 'node:timers/promises'
import { deadline } from '../shared/deadline.ts'
import { toError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'

const SWEEP_EVERY_MS = 3_600_000
const BATCH_MS = 60_000
/** Between two batches others get at the database. */
const PAUSE_MS = 100
/** A sweep that finds more leaves it to the next one. */
const BATCHES_MAX = 5000

interface RetentionDeps {
  /** The name of what is deleted, in the plural. @default 'runs' */
  readonly of?: string
  /** Deletes a batch of what is too old, and returns how many; 0 when nothing is left. */
  readonly expire: () => Promise<number>
  readonly onDeleted: (count: number) => void
  readonly log: Log
  /** @default one hour */
  readonly everyMs?: number
}

/** Deletes what is kept for a time only, such as runs, at the start and once an hour. */
export function startRetention({
  of = 'runs',
  expire,
  onDeleted,
  log,
  everyMs = SWEEP_EVERY_MS,
}: RetentionDeps): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping

  async function sweep(): Promise<void> {
    let deleted = 0
    try {
      for (let batch = 0; batch < BATCHES_MAX && !signal.aborted; batch += 1) {
        const count = await deadline(
          { name: `retention of ${of}`, timeoutMs: BATCH_MS, signal },
          expire,
        )
        if (count === 0) break
        deleted += count
        onDeleted(count)
        await sleep(PAUSE_MS, undefined, { signal })
      }
    } catch (thrown) {
      const reason = toError(thrown).message
      if (!signal.aborted)
        log.warn({ reason }, `old ${of} could not be deleted; trying again later`)
    }
    if (deleted > 0) log.info({ [of]: deleted }, `${of} were deleted: their retention has ended`)
  }

  async function keepSweeping(): Promise<void> {
    while (!signal.aborted) {
      await sweep()
      await sleep(everyMs, undefined, { signal }).catch(() => {})
    }
  }

  const ended = keepSweeping()
  return {
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

import type { Bells } from '../../../shared/bell.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { CollectorMetrics } from '../../observability/metrics.ts'
import { pause } from '../../../shared/pause.ts'
import { BUSY } from '../spans/writing-share.ts'
import type { WritingTime } from '../spans/writing-share.ts'
import { asLeader } from '../as-leader.ts'
import { takeTurns } from '../take-turns.ts'
import { openExtraction, takeExtraction } from './extract-texts.ts'
import type { Extraction, ExtractionSession } from './extract-texts.ts'

interface ExtractionOptions {
  readonly sql: Database
  readonly address: DatabaseAddress
  readonly metrics: CollectorMetrics
  readonly bells: Bells
  readonly log: Log
  readonly signal: AbortSignal
  readonly writingTime: Pick<WritingTime, 'watch'>
}

/** Any number: who holds it reads all texts. */
const READING_LOCK = 7_310_452_135
const IDLE_MS = 1000
const AFTER_FAILURE_MS = 5000
const LAG_MS = 5000
/** Texts that are older than this can be found before it rests as long again. */
const LATE_MS = 60_000

/** It rests for this many times as long as it worked, but not longer than that. */
const RESTS = {
  quiet: { times: 2, timesLate: 0, longestMs: 5000 },
  busy: { times: 8, timesLate: 2, longestMs: 15_000 },
} as const

/**
 * Reads texts until the signal. To read a text costs more than to store a span, so it rests for
 * twice as long as it works, and for eight times as long while the writers are busy: senders and
 * lists come first, and under load texts are found later. Once they are a minute late it rests
 * less, or under a steady load they would come later and later.
 */
export function keepExtracted(options: ExtractionOptions): Promise<void> {
  const { address, metrics } = options
  const writingShare = options.writingTime.watch()
  return takeTurns({
    ...options,
    open: () => openExtraction(address),
    take: asLeader(READING_LOCK, async (session: ExtractionSession) => {
      const started = performance.now()
      const extraction = await takeExtraction(session)
      metrics.extractedTexts.inc(extraction.spans)
      const share = writingShare.look()
      const restMs = restAfter(extraction, performance.now() - started, share)
      const isIdle = extraction.isLeader && extraction.isDone
      return { restMs, isIdle, isUnsent: share === 0 }
    }),
    afterFailureMs: AFTER_FAILURE_MS,
    failure: 'the texts of spans are not up to date',
  })
}

/** How long to rest after a turn that took so many milliseconds, with writers this busy. */
export function restAfter(
  { isDone, lagMs }: Omit<Extraction, 'isLeader'>,
  workedMs: number,
  writingShare: number,
): number {
  if (isDone) return IDLE_MS
  const { times, timesLate, longestMs } = RESTS[writingShare > BUSY ? 'busy' : 'quiet']
  return Math.min(workedMs * (lagMs > LATE_MS ? timesLate : times), longestMs)
}

/** Measures until the signal how late the texts are. */
export async function watchExtraction(options: ExtractionOptions): Promise<void> {
  const { sql, metrics, log, signal } = options
  while (await pause(signal, LAG_MS)) {
    try {
      const [row] = await sql<{ seconds: number | null }[]>`
        select extract(epoch from now() - min(noted_at))::float8 as seconds from traces_to_extract`
      metrics.searchLag.set(Math.max(row?.seconds ?? 0, 0))
    } catch (thrown) {
      log.debug({ reason: toError(thrown).message }, 'the lag of the search is not known')
    }
  }
}

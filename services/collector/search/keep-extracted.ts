import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { CollectorMetrics } from '../metrics.ts'
import { pause } from '../pause.ts'
import { takeTurns } from '../take-turns.ts'
import { openExtraction, takeExtraction } from './extract-texts.ts'
import type { Extraction } from './extract-texts.ts'

/** The parts that keep the texts of spans up to date. */
export interface ExtractionOptions {
  readonly sql: Database
  readonly address: DatabaseAddress
  readonly metrics: CollectorMetrics
  readonly log: Log
  readonly signal: AbortSignal
}

const IDLE_MS = 1000
const LONGEST_MS = 5000
const AFTER_FAILURE_MS = 5000
const LAG_MS = 5000
/** It rests for this many times as long as it worked. */
const REST = 2
/** Texts that are older than this can be found before it rests again. */
const LATE_MS = 60_000

/**
 * Reads texts until the signal. It rests for twice as long as it works: senders and lists come
 * first, and under load texts are found later. It does not rest while they are a minute late, or
 * under a steady load they would come later and later.
 */
export function keepExtracted(options: ExtractionOptions): Promise<void> {
  const { address, metrics } = options
  return takeTurns({
    ...options,
    open: () => openExtraction(address),
    async take(session) {
      const started = performance.now()
      const extraction = await takeExtraction(session)
      metrics.extractedTexts.inc(extraction.spans)
      return restAfter(extraction, performance.now() - started)
    },
    afterFailureMs: AFTER_FAILURE_MS,
    failure: 'the texts of spans are not up to date',
  })
}

/** How long to rest after a turn that took so many milliseconds. */
export function restAfter({ isDone, lagMs }: Extraction, workedMs: number): number {
  if (isDone) return IDLE_MS
  return lagMs > LATE_MS ? 0 : Math.min(workedMs * REST, LONGEST_MS)
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

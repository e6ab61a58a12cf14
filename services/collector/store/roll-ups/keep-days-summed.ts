import { toError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { Log } from '../../../shared/log.ts'
import { pause } from '../../../shared/pause.ts'
import { sumNextDay } from './trace-days.ts'

/** The parts that sum days up. */
interface DaySumOptions {
  readonly sql: Database
  readonly log: Log
  readonly signal: AbortSignal
}

const IDLE_MS = 2000
const AFTER_FAILURE_MS = 10_000
/** It rests for this many times as long as it worked. */
const REST = 3

/** Sums up days whose traces have changed, until the signal. */
export async function keepDaysSummed({ sql, log, signal }: DaySumOptions): Promise<void> {
  let restMs = IDLE_MS
  while (await pause(signal, restMs)) {
    try {
      const started = performance.now()
      const isSummed = await sumNextDay(sql)
      restMs = isSummed ? (performance.now() - started) * REST : IDLE_MS
    } catch (thrown) {
      log.error({ reason: toError(thrown).message }, 'the sums of a day are not up to date')
      restMs = AFTER_FAILURE_MS
    }
  }
}

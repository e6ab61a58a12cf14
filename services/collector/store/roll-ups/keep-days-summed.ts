import type { Bells } from '../../../shared/bell.ts'
import { toError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { Log } from '../../../shared/log.ts'
import { pause } from '../../../shared/pause.ts'
import { createDoze } from '../take-turns.ts'
import { sumNextDay } from './trace-days.ts'

/** The parts that sum days up. */
interface DaySumOptions {
  readonly sql: Database
  readonly bells: Bells
  readonly log: Log
  readonly signal: AbortSignal
}

const IDLE_MS = 2000
const AFTER_FAILURE_MS = 10_000
/** It rests for this many times as long as it worked. */
const REST = 3

/** Sums up days whose traces have changed, until the signal. */
export async function keepDaysSummed({ sql, bells, log, signal }: DaySumOptions): Promise<void> {
  const doze = createDoze(bells.add(), signal)
  let restMs = IDLE_MS
  let isIdle = false
  while (await pause(signal, restMs)) {
    try {
      await doze(isIdle)
      if (signal.aborted) return
      const started = performance.now()
      const isSummed = await sumNextDay(sql)
      isIdle = !isSummed
      restMs = isSummed ? (performance.now() - started) * REST : IDLE_MS
    } catch (thrown) {
      log.error({ reason: toError(thrown).message }, 'the sums of a day are not up to date')
      isIdle = false
      restMs = AFTER_FAILURE_MS
    }
  }
}

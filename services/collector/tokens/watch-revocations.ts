import type { Database } from '../../shared/postgres/database.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { pause } from '../../shared/pause.ts'
import type { Revocations } from './revocations.ts'

interface WatchOptions {
  readonly sql: Database
  readonly revocations: Revocations
  /** So short that two tries may fail and a revocation still takes effect in time. */
  readonly revocationsMs: number
  readonly log: Log
  readonly signal: AbortSignal
}

/** Keeps the list fresh until the signal. */
export async function watchRevocations(options: WatchOptions): Promise<void> {
  const { sql, revocations, revocationsMs, log, signal } = options
  while (await pause(signal, revocationsMs)) {
    const wasStale = revocations.isStale()
    try {
      await revocations.refresh(sql)
      if (wasStale) log.info('the list of revoked tokens is fresh again')
    } catch (thrown) {
      const reason = toError(thrown).message
      if (!wasStale && revocations.isStale()) log.warn({ reason }, STALE)
      else log.debug({ reason }, 'the list of revoked tokens was not read')
    }
  }
}

const STALE = 'the list of revoked tokens is old; what was revoked since is still accepted'

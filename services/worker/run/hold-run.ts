import { LEASE_SECONDS, renewLease } from '../../platform/runs/run-queue.ts'
import type { LeasedRun } from '../../platform/runs/run-queue.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { DRAINED } from './ending.ts'
import type { Ending } from './ending.ts'
import { deadline } from '../../shared/deadline.ts'

interface LeaseKeeping {
  /** Returns false when the run is no longer this worker's. */
  readonly renew: () => Promise<boolean>
  readonly everyMs: number
  /** The time that the lease holds without a renewal. */
  readonly leaseMs: number
  /** The wait after a renewal that failed. @default 1000 */
  readonly retryMs?: number
  /** Called once, when the run was revoked or its lease could not be renewed in time. */
  readonly onLost: () => void
}

const REVOKED: Ending = {
  outcome: 'revoked',
  failure: { code: 'lease_lost', message: 'The run was stopped, or another worker took it over.' },
}

/** The ways in which others end an attempt. */
export interface RunSignals {
  /** The worker stops: the run is handed over after the calls in flight, where its crew can. */
  readonly pause: AbortSignal
  /** Puts the run back into the queue. */
  readonly drain: AbortSignal
  /** Aborts when somebody stopped the run. */
  readonly stopped: AbortSignal
}

/** A worker's hold on a run, from the moment it took the run until `release`. */
export interface Hold {
  /** Aborts when this worker has to let go of the run. */
  readonly signal: AbortSignal
  /** Returns why it had to; undefined while it holds the run. */
  readonly ending: () => Ending | undefined
  /** Lets go of the run: the database says that it is no longer this worker's. */
  readonly lose: () => void
  /** Stops renewing the lease. */
  readonly release: () => void
}

/** The database that has the lease, and how often the lease is renewed. */
export interface HoldDeps {
  readonly sql: Database
  /** @default a third of the lease */
  readonly heartbeatMs?: number
}

/** Renews the lease of a run until it is released, lost, stopped, or the worker drains. */
export function holdRun(
  { sql, heartbeatMs = (LEASE_SECONDS * 1000) / 3 }: HoldDeps,
  run: LeasedRun,
  { drain, stopped }: RunSignals,
): Hold {
  const stop = new AbortController()
  let ending: Ending | undefined
  const letGo = (why: Ending): void => {
    ending ??= why
    stop.abort(new Error(why.outcome))
  }
  const onDrain = (): void => letGo(DRAINED)
  drain.addEventListener('abort', onDrain)
  if (drain.aborted) onDrain()
  stopped.addEventListener('abort', () => letGo(REVOKED))
  const stopKeeping = keepLease({
    renew: () => renewLease(sql, run),
    everyMs: heartbeatMs,
    leaseMs: LEASE_SECONDS * 1000,
    onLost: () => letGo(REVOKED),
  })
  return {
    signal: stop.signal,
    ending: () => ending,
    lose: () => letGo(REVOKED),
    release() {
      drain.removeEventListener('abort', onDrain)
      stopKeeping()
    },
  }
}

/** Renews a lease until it is stopped. Returns the stop. */
export function keepLease(keeping: LeaseKeeping): () => void {
  const { renew, everyMs, leaseMs, retryMs = 1000, onLost } = keeping
  const limit = { name: 'lease', timeoutMs: leaseMs / 6 }
  // Given up a little early: by the time another worker may take the run, this one has let go of
  // it.
  const giveUpMs = leaseMs - leaseMs / 6
  let renewedAt = performance.now()
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  const keepIn = (ms: number): void => void (timer = setTimeout(() => void keep(), ms))
  async function keep(): Promise<void> {
    const startedAt = performance.now()
    const isOurs = await deadline(limit, renew).catch(() => undefined)
    if (isStopped) return
    if (isOurs) renewedAt = startedAt
    if (isOurs === false || performance.now() - renewedAt >= giveUpMs) onLost()
    else keepIn(isOurs ? everyMs : retryMs)
  }
  keepIn(everyMs)
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

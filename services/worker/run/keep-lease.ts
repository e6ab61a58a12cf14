import { setTimeout as sleep } from 'node:timers/promises'
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

/** Renews a lease until it is stopped. Returns the stop. */
export function keepLease(keeping: LeaseKeeping): () => void {
  const { renew, everyMs, leaseMs, retryMs = 1000, onLost } = keeping
  const stopped = new AbortController()
  const { signal } = stopped
  // Given up a little early: by the time another worker may take the run, this one has let go of
  // it.
  const giveUpMs = leaseMs - leaseMs / 6
  async function keep(): Promise<void> {
    let renewedAt = performance.now()
    let waitMs = everyMs
    while (!signal.aborted) {
      await sleep(waitMs, undefined, { signal })
      const startedAt = performance.now()
      try {
        const isOurs = await deadline({ name: 'lease', timeoutMs: leaseMs / 6, signal }, renew)
        if (!isOurs) return onLost()
        renewedAt = startedAt
        waitMs = everyMs
      } catch {
        if (performance.now() - renewedAt >= giveUpMs) return onLost()
        waitMs = retryMs
      }
    }
  }
  // Only the stop itself raises here.
  keep().catch(() => {})
  return () => stopped.abort()
}

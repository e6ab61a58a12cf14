import { isDeepStrictEqual } from 'node:util'
import type { JWK } from 'jose'

/** The age until which keys are fresh. */
export const FRESH_MS = 10 * 60_000
const REFRESH_AHEAD_MS = 8 * 60_000
const RETRY_MS = 10_000
const UNKNOWN_KEY_MS = 30_000
/** Keys of this age were fetched for this very call, or one beside it. */
const JUST_FETCHED_MS = 1000
/** The time after a failure in which the last keys serve at once while a new attempt runs. */
const FAILING_MS = 30_000

/** Options of `createKeySet`. */
interface KeySetOptions {
  readonly fetch: () => Promise<readonly JWK[]>
  /** The time for which keys serve after they are no longer fresh, while new ones cannot be had. */
  readonly staleMs: number
  /** Called when keys serve that are no longer fresh. */
  readonly onStale: () => void
  /** In milliseconds. */
  readonly now: () => number
}

/**
 * The keys to try, none if the key id is unknown; undefined if the provider is unavailable and no
 * usable keys are left.
 */
export type KeyLookup = readonly JWK[] | undefined

/** The keys of one authorization server. */
export interface KeySet {
  /** `matches` picks the keys that could have signed. */
  find(matches: (key: JWK) => boolean): Promise<KeyLookup>
}

interface Snapshot {
  readonly keys: readonly JWK[]
  readonly fetchedAt: number
}

/**
 * The keys of one authorization server: fresh for 10 minutes, fetched again ahead of that, at most
 * once at a time, once in 10 s when it fails, and once in 30 s because a key is unknown, however
 * many ask.
 */
export function createKeySet({ fetch, staleMs, onStale, now }: KeySetOptions): KeySet {
  let snapshot: Snapshot | undefined
  let failedAt = -Infinity
  let soughtUnknownAt = -Infinity
  let fetching: Promise<void> | undefined

  async function fetchNow(): Promise<void> {
    try {
      const keys = await fetch()
      // The same keys stay the same objects: what was verified with them is still verified.
      const same = snapshot && isDeepStrictEqual(snapshot.keys, keys)
      snapshot = { keys: same ? (snapshot?.keys ?? keys) : keys, fetchedAt: now() }
      failedAt = -Infinity
    } catch {
      // Whoever fetches has told the log.
      failedAt = now()
    }
  }

  function refresh(): Promise<void> {
    if (now() - failedAt < RETRY_MS) return Promise.resolve()
    fetching ??= fetchNow().finally(() => (fetching = undefined))
    return fetching
  }

  const ageMs = (): number => (snapshot ? now() - snapshot.fetchedAt : Infinity)

  async function refreshAhead(): Promise<void> {
    const refreshed = refresh()
    const isUsable = ageMs() <= FRESH_MS + staleMs
    const serveAtOnce = ageMs() <= FRESH_MS || (isUsable && now() - failedAt < FAILING_MS)
    if (!serveAtOnce) await refreshed
  }

  function usableKeys(): readonly JWK[] | undefined {
    if (ageMs() > FRESH_MS + staleMs) return undefined
    if (ageMs() > FRESH_MS) onStale()
    return snapshot?.keys
  }

  return {
    async find(matches) {
      if (ageMs() > REFRESH_AHEAD_MS) await refreshAhead()
      const found = usableKeys()?.filter(matches)
      if (!found || found.length > 0) return found
      if (now() - soughtUnknownAt >= UNKNOWN_KEY_MS && ageMs() >= JUST_FETCHED_MS) {
        soughtUnknownAt = now()
        await refresh()
      } else if (fetching) await fetching
      // Without an answer nobody knows whether the key is a new one: that is not the caller's
      // fault.
      if (now() - failedAt < FAILING_MS) return undefined
      return snapshot?.keys.filter(matches)
    },
  }
}

export interface FailureThrottleOptions {
  /** Failures that a subject has at once. */
  readonly burst: number
  /** How fast it gets them back. */
  readonly perSecond: number
  readonly subjectsMax: number
  /** In milliseconds. */
  readonly now: () => number
}

export interface FailureThrottle {
  /** Counts a failure. Returns 0, or after how many seconds to try again when there were too many. */
  fail(subject: string): number
}

/** A token bucket per subject that only failures empty: what succeeds is never held up. Forgets the oldest subjects. */
export function createFailureThrottle(options: FailureThrottleOptions): FailureThrottle {
  const { burst, perSecond, subjectsMax, now } = options
  const buckets = new Map<string, { left: number; at: number }>()
  return {
    fail(subject) {
      const at = now()
      const { left: before, at: since } = buckets.get(subject) ?? { left: burst, at }
      const refilled = Math.min(burst, before + ((at - since) / 1000) * perSecond)
      const isOver = refilled < 1
      // Put at the end: the first is the one that failed longest ago.
      buckets.delete(subject)
      buckets.set(subject, { left: isOver ? refilled : refilled - 1, at })
      const [oldest] = buckets.keys()
      if (buckets.size > subjectsMax && oldest !== undefined) buckets.delete(oldest)
      return isOver ? Math.ceil((1 - refilled) / perSecond) : 0
    },
  }
}

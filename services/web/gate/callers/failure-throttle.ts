/** Options of `createFailureThrottle`. */
interface FailureThrottleOptions {
  /** The failures that a subject has at once. */
  readonly burst: number
  /** The failures that it gets back per second. */
  readonly perSecond: number
  readonly subjectsMax: number
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
}

/** Counts the failures of subjects, such as addresses. */
interface FailureThrottle {
  /** Counts a failure. Returns 0, or the seconds to wait if there were too many. */
  fail(subject: string): number
}

interface Bucket {
  readonly left: number
  readonly at: number
}

/** The subject of all for whom there is no room. */
const OTHERS = ''
const SWEEP_MS = 1000

/**
 * A token bucket per subject that only failures empty: what succeeds is never held up. A subject
 * that has failed stays until it has recovered: new ones push nobody out, and share one bucket
 * while there is no room for them.
 */
export function createFailureThrottle(options: FailureThrottleOptions): FailureThrottle {
  const { burst, perSecond, subjectsMax, now } = options
  const buckets = new Map<string, Bucket>()
  let sweptAt = -Infinity

  const refilled = ({ left, at }: Bucket, moment: number): number =>
    Math.min(burst, left + ((moment - at) / 1000) * perSecond)

  /** Drops the subjects that have all of their failures back. */
  function sweep(moment: number): void {
    if (moment - sweptAt < SWEEP_MS) return
    sweptAt = moment
    for (const [subject, bucket] of buckets) {
      if (refilled(bucket, moment) >= burst) buckets.delete(subject)
    }
  }

  function slotOf(subject: string, moment: number): string {
    if (buckets.has(subject) || buckets.size < subjectsMax) return subject
    sweep(moment)
    return buckets.size < subjectsMax ? subject : OTHERS
  }

  return {
    fail(subject) {
      const moment = now()
      const slot = slotOf(subject, moment)
      const left = refilled(buckets.get(slot) ?? { left: burst, at: moment }, moment)
      const isOver = left < 1
      buckets.set(slot, { left: isOver ? left : left - 1, at: moment })
      return isOver ? Math.ceil((1 - left) / perSecond) : 0
    },
  }
}

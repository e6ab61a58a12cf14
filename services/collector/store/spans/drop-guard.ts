import type { Log } from '../../../shared/log.ts'
import type { Clock } from '../clock.ts'
import type { Day } from './partitions.ts'

/**
 * More than a week of days falls due only after a long stop, a shorter retention, or by a wrong
 * clock.
 */
const MAX_AT_ONCE = 7
/** Somewhat less than the hour between two runs. */
const NOTICE_MS = 3_000_000

interface DayOfSpans {
  readonly name: string
  readonly day: Day
}

/** Returns those of the expired days, which come oldest first, that may be dropped now. */
export type DropGuard = <Item extends DayOfSpans>(expired: readonly Item[]) => Item[]

interface DropGuardOptions {
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds by a clock that nobody sets. @default performance.now */
  readonly elapsedMs?: () => number
}

/**
 * Stands between a clock and the data: nothing is dropped while the clocks of the pod and of
 * PostgreSQL disagree, and many days at once only after they have been announced in the log for one
 * run, which gives people, or a clock that is set right soon after the start of a node, an hour.
 */
export function createDropGuard(options: DropGuardOptions): DropGuard {
  const { clock, log, elapsedMs = () => performance.now() } = options
  let announced: { at: number; upTo: Day } | undefined
  return function admit(expired) {
    if (clock.isSkewed()) {
      const facts = { days: expired.length, clock_skew_ms: clock.skewMs() }
      log.error(facts, 'no expired days are dropped: the clocks of pod and PostgreSQL differ')
      return []
    }
    const notice = announced && elapsedMs() - announced.at >= NOTICE_MS ? announced.upTo : -Infinity
    const surprising = expired.filter(({ day }) => day > notice)
    if (surprising.length <= MAX_AT_ONCE) {
      announced = undefined
      return [...expired]
    }
    const upTo = surprising.at(-1)?.day ?? notice
    if (announced === undefined || announced.upTo < upTo) {
      announced = { at: elapsedMs(), upTo }
      announce(log, surprising)
    }
    return expired.filter(({ day }) => day <= notice)
  }
}

function announce(log: Log, expired: readonly DayOfSpans[]): void {
  const facts = { days: expired.length, from: expired[0]?.name, to: expired.at(-1)?.name }
  log.warn(
    facts,
    'many days have expired at once; they will be dropped in an hour. If that is wrong, ' +
      'set the retention or the clock right and restart the collector',
  )
}

/** How busy the writers are. */
export interface WritingTime {
  /** A writer has written for so long. */
  note(seconds: number): void
  /** Begins to measure for one who looks: looks of others do not count for it. */
  watch(): WritingShare
}

/** How busy the writers are, for one who looks. */
export interface WritingShare {
  /** How much of the time since the last look they were writing, from 0 to 1. */
  look(): number
}

/** From this share on the writers are busy, and work in the background waits. */
export const BUSY = 0.8

/** Measures so many writers, by a clock of milliseconds. */
export function createWritingTime(
  writers: number,
  now: () => number = () => performance.now(),
): WritingTime {
  let totalMs = 0
  return {
    note(seconds) {
      totalMs += seconds * 1000
    },
    watch() {
      let before = totalMs
      let since = now()
      return {
        look() {
          const share = (totalMs - before) / Math.max((now() - since) * writers, 1)
          since = now()
          before = totalMs
          // What began before the last look counts with this one.
          return Math.min(share, 1)
        },
      }
    },
  }
}

/** How busy the writers are. */
export interface WritingShare {
  /** A writer has written for so long. */
  note(seconds: number): void
  /** How much of the time since the last look they were writing, from 0 to 1. */
  look(): number
}

/** Measures so many writers, by a clock of milliseconds. */
export function createWritingShare(
  writers: number,
  now: () => number = () => performance.now(),
): WritingShare {
  let writingMs = 0
  let since = now()
  return {
    note(seconds) {
      writingMs += seconds * 1000
    },
    look() {
      const share = writingMs / Math.max((now() - since) * writers, 1)
      since = now()
      writingMs = 0
      // What began before the last look counts with this one.
      return Math.min(share, 1)
    },
  }
}

/** The events that the worker has committed. */
export interface Commits {
  /** Notes that all events up to this number are committed. */
  advance(seq: number): void
  /** Waits until the event is committed. Raises the signal's reason. */
  until(seq: number): Promise<void>
}

interface Waiting {
  readonly seq: number
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

/** Follows how far a worker has committed the events of a run. */
export function createCommits(signal: AbortSignal): Commits {
  let committed = 0
  let waiting: readonly Waiting[] = []
  signal.addEventListener('abort', () => {
    for (const { reject } of waiting) reject(signal.reason)
    waiting = []
  })
  return {
    advance(seq) {
      committed = Math.max(committed, seq)
      const due = waiting.filter((each) => each.seq <= committed)
      waiting = waiting.filter((each) => each.seq > committed)
      for (const { resolve } of due) resolve()
    },
    until: (seq) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) reject(signal.reason as Error)
        else if (seq <= committed) resolve()
        else waiting = [...waiting, { seq, resolve, reject }]
      }),
  }
}

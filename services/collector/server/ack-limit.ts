/** Resolves as the promise does; rejects with `late()` when that takes longer than the limit. */
export type WithinLimit = <Result>(promise: Promise<Result>, late: () => Error) => Promise<Result>

interface Waiter {
  readonly dueAt: number
  readonly giveUp: () => void
}

/**
 * Limits how long promises are waited for. All have the same limit, so they are due in the order in
 * which they came: one timer serves all of them, and a request costs none.
 */
export function createLimit(limitMs: number): WithinLimit {
  const waiting = new Set<Waiter>()
  let isArmed = false
  const arm = (ms: number): void => {
    isArmed = true
    // Whoever waits has a connection, which keeps the process alive.
    setTimeout(giveUpDue, ms).unref()
  }
  const giveUpDue = (): void => {
    isArmed = false
    const now = performance.now()
    for (const waiter of waiting) {
      if (waiter.dueAt > now) return arm(waiter.dueAt - now)
      waiting.delete(waiter)
      waiter.giveUp()
    }
  }
  return (promise, late) =>
    new Promise((resolve, reject) => {
      const waiter = { dueAt: performance.now() + limitMs, giveUp: () => reject(late()) }
      waiting.add(waiter)
      if (!isArmed) arm(limitMs)
      const settle =
        <Outcome>(end: (outcome: Outcome) => void) =>
        (outcome: Outcome): void => {
          waiting.delete(waiter)
          end(outcome)
        }
      promise.then(settle(resolve), settle(reject))
    })
}

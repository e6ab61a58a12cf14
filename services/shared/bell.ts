/** A bell that ends one wait, also when it rang while nobody waited. */
export interface Bell {
  readonly ring: () => void
  /** Resolves when the bell rings, when the time is over or the signal aborts. */
  wait(timeoutMs: number, signal?: AbortSignal): Promise<void>
}

/** Creates a bell for one that waits. */
export function createBell(): Bell {
  let rang = false
  let hear = (): void => {}
  const ring = (): void => {
    rang = true
    hear()
  }
  return {
    ring,
    async wait(timeoutMs, signal) {
      if (!rang && signal?.aborted !== true) {
        await new Promise<void>((resolve) => {
          const end = (): void => {
            clearTimeout(timer)
            signal?.removeEventListener('abort', end)
            resolve()
          }
          const timer = setTimeout(end, timeoutMs)
          hear = end
          signal?.addEventListener('abort', end)
        })
      }
      rang = false
    },
  }
}

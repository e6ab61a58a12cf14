/** A bell that ends one wait, also when it rang while nobody waited. */
export interface Bell {
  readonly ring: () => void
  /** Resolves when the bell rings, when the time is over or the signal aborts. */
  wait(timeoutMs: number, signal?: AbortSignal): Promise<void>
}

/** Several bells, which ring together. */
export interface Bells {
  readonly ring: () => void
  readonly add: () => Bell
}

/** Creates bells for all that wait for the same. */
export function createBells(): Bells {
  const bells: Bell[] = []
  return {
    ring() {
      for (const bell of bells) bell.ring()
    },
    add() {
      const bell = createBell()
      bells.push(bell)
      return bell
    },
  }
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

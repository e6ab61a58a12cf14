/** The times for which a value is good. */
interface Freshness {
  /** A value is loaded again after this; the old one is good for as long as that fails. */
  readonly freshMs: number
  /** The time for which the old value serves after a failure, before the next try. */
  readonly retryMs: number
}

/** Shares one load between all that wait for it; an old value is better than none. */
export function keepFresh<Value>(
  load: () => Promise<Value>,
  { freshMs, retryMs }: Freshness,
): () => Promise<Value> {
  let kept: { value: Value; until: number } | undefined
  let pending: Promise<Value> | undefined

  async function reload(): Promise<Value> {
    try {
      const value = await load()
      kept = { value, until: performance.now() + freshMs }
      return value
    } catch (thrown) {
      if (kept === undefined) throw thrown
      kept = { ...kept, until: performance.now() + retryMs }
      return kept.value
    } finally {
      pending = undefined
    }
  }

  return function getFresh() {
    if (kept && performance.now() < kept.until) return Promise.resolve(kept.value)
    return (pending ??= reload())
  }
}

/** The first and the longest wait of a series of attempts. */
interface Backoff {
  readonly firstMs: number
  readonly maxMs: number
}

/**
 * Returns the time to wait after a number of failed attempts, at least 1: twice as long each time,
 * and between a half and the whole of that, so that those who wait do not come back together.
 */
export function backoffMs(attempts: number, { firstMs, maxMs }: Backoff): number {
  return Math.min(firstMs * 2 ** (attempts - 1), maxMs) * (0.5 + Math.random() / 2)
}

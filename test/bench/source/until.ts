import { setTimeout as delay } from 'node:timers/promises'

const PAUSE_MS = 50
const PATIENCE_MS = 30 * 60_000

/** Asks some twenty times a second until the answer is yes; an error is a no. */
export async function until(ask: () => Promise<boolean>): Promise<void> {
  const startedMs = performance.now()
  while (!(await ask().catch(() => false))) {
    if (performance.now() - startedMs > PATIENCE_MS) throw new Error('It takes too long.')
    await delay(PAUSE_MS)
  }
}

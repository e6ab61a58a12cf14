import { setTimeout as delay } from 'node:timers/promises'

/** False when the signal came first. */
export async function pause(signal: AbortSignal, ms: number): Promise<boolean> {
  try {
    await delay(ms, undefined, { signal })
    return true
  } catch {
    return false
  }
}

import { setTimeout as delay } from 'node:timers/promises'

/** Waits until something that can only be asked for is so; fails after `timeoutMs`. */
export async function until(
  isSo: () => Promise<boolean>,
  { timeoutMs = 50_000 }: { timeoutMs?: number } = {},
): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs
  while (!(await isSo())) {
    if (Date.now() > giveUpAt)
      throw new Error(`still not so after ${timeoutMs} ms: ${isSo.toString()}`)
    await delay(50)
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { sqlState } from '../../shared/postgres/failures.ts'

/** SQLSTATE classes that blame the statement itself: it will never succeed. */
const REFUSALS = new Set(['21', '22', '23', '42', '54'])

/** The bounds of repeating a statement. */
export interface Patience {
  readonly forMs: number
  /** The pause between two tries. @default 500 */
  readonly waitMs?: number
  readonly signal?: AbortSignal
}

/**
 * Repeats a statement until the database takes it. Raises the last error once `forMs` are over, and
 * at once when the database refuses the statement as such.
 */
export async function retryStatement<Result>(
  statement: () => Promise<Result>,
  { forMs, waitMs = 500, signal }: Patience,
): Promise<Result> {
  const giveUpAt = performance.now() + forMs
  for (;;) {
    try {
      return await statement()
    } catch (thrown) {
      if (performance.now() >= giveUpAt || isRefused(thrown)) throw thrown
      await sleep(waitMs, undefined, { signal })
    }
  }
}

/** Distinguishes a statement that the database refused from one that it failed to run. */
export function isRefused(thrown: unknown): boolean {
  return REFUSALS.has(sqlState(thrown)?.slice(0, 2) ?? '')
}

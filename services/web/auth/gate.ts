import { AppError } from '../../shared/errors.ts'

export interface GateLimits {
  readonly concurrent: number
  readonly waitingMax: number
  /** What is told to those for whom the line is too long. */
  readonly busy: string
}

/**
 * Lets a few calls of something expensive run at a time while the others wait in line. Raises `unavailable` when the
 * line is full.
 */
export function createGate<Args extends unknown[], Result>(
  call: (...args: Args) => Promise<Result>,
  { concurrent, waitingMax, busy }: GateLimits,
): (...args: Args) => Promise<Result> {
  const waiting: (() => void)[] = []
  let running = 0

  async function enter(): Promise<void> {
    if (running < concurrent) {
      running += 1
      return
    }
    if (waiting.length >= waitingMax) {
      throw new AppError('unavailable', busy, { headers: { 'retry-after': '5' } })
    }
    // Whoever leaves hands its place over.
    await new Promise<void>((resolve) => waiting.push(resolve))
  }

  function leave(): void {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }

  return async function callThroughGate(...args) {
    await enter()
    try {
      return await call(...args)
    } finally {
      leave()
    }
  }
}

import { AppError } from '../errors.ts'

export interface TurnLimits {
  /** Calls of one subject that run at a time. */
  readonly concurrent: number
  /** Calls of one subject that wait. */
  readonly waitingMax: number
}

interface Line {
  running: number
  readonly waiting: (() => void)[]
}

export type TakeTurns = <Result>(subject: string, call: () => Promise<Result>) => Promise<Result>

/** Lets a few calls of each subject run at a time while its others wait. Raises `unavailable` when its line is full. */
export function createTurns({ concurrent, waitingMax }: TurnLimits): TakeTurns {
  const lines = new Map<string, Line>()

  async function enter(line: Line): Promise<void> {
    if (line.running < concurrent) {
      line.running += 1
      return
    }
    if (line.waiting.length >= waitingMax) {
      const headers = { 'retry-after': '5' }
      throw new AppError('unavailable', 'Too many look-ups at once. Try again.', { headers })
    }
    // Whoever leaves hands its place over.
    await new Promise<void>((resolve) => line.waiting.push(resolve))
  }

  function leave(subject: string, line: Line): void {
    const next = line.waiting.shift()
    if (next) return next()
    line.running -= 1
    if (line.running === 0) lines.delete(subject)
  }

  return async function takeTurn(subject, call) {
    const line = lines.get(subject) ?? { running: 0, waiting: [] }
    lines.set(subject, line)
    await enter(line)
    try {
      return await call()
    } finally {
      leave(subject, line)
    }
  }
}

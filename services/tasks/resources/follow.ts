import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../shared/errors.ts'
import type { Output } from './apply-files.ts'

const POLL_MS = 1000

interface Followed<State> {
  readonly start: () => Promise<State>
  readonly again: (state: State) => Promise<State>
  readonly isDone: (state: State) => boolean
  /** How far it is, which is printed when it changes. */
  readonly progressOf: (state: State) => string
  readonly timeoutMs: number
}

/** Starts something on a platform, and looks at it each second until it is done or time is over. */
export async function follow<State>(
  { start, again, isDone, progressOf, timeoutMs }: Followed<State>,
  output: Output,
): Promise<State> {
  const giveUpAt = performance.now() + timeoutMs
  let now = await start()
  let told = ''
  for (;;) {
    const progress = progressOf(now)
    if (progress !== told) output.problem(`${progress}\n`)
    told = progress
    if (isDone(now) || performance.now() > giveUpAt) return now
    await sleep(POLL_MS)
    now = await again(now)
  }
}

/** Does what needs a platform; one that cannot be reached is said, and has an exit code. */
export async function whileReachable(
  unreachable: number,
  output: Output,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code !== 'unavailable') throw thrown
    output.problem(`${thrown.message}\n`)
    return unreachable
  }
}

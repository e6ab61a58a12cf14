import { AppError } from '../../../shared/errors.ts'
import { describeEnd, startProgram } from './run-program.ts'
import type { Program } from './run-program.ts'

interface Step extends Program {
  /** What it does, for people: `Installing the dependencies`. */
  readonly name: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** How a step ended; `failure` is a sentence. */
export type StepEnd =
  | { readonly ok: true; readonly output: string }
  | { readonly ok: false; readonly failure: string; readonly lastLines: string }

/**
 * Runs a program to its end, within its time. Raises the reason of the signal, and `unavailable`
 * when the program cannot be started.
 */
export async function runStep(step: Step): Promise<StepEnd> {
  const { name, timeoutMs, signal } = step
  signal.throwIfAborted()
  const program = startProgram(step)
  let isLate = false
  const cut = (): void => void program.end(0)
  const timer = setTimeout(() => {
    isLate = true
    cut()
  }, timeoutMs)
  signal.addEventListener('abort', cut, { once: true })
  try {
    const end = await program.ended
    signal.throwIfAborted()
    if (end.error !== undefined) throw new AppError('unavailable', `${name} ${describeEnd(end)}.`)
    const lastLines = program.lastLines()
    if (end.code === 0) return { ok: true, output: lastLines }
    const how = isLate ? `took longer than ${timeoutMs / 60_000} minutes` : describeEnd(end)
    return { ok: false, failure: `${name} ${how}.`, lastLines }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', cut)
  }
}

import { AppError } from './errors.ts'

interface Deadline {
  /** The callee, for the message: `collector health`. */
  readonly name: string
  readonly timeoutMs: number
  /** Ends the call early, such as when the process drains. */
  readonly signal?: AbortSignal
}

/**
 * Runs an outgoing call with a deadline: its signal aborts at `timeoutMs`, and the caller goes on
 * then even if the call ignores the signal. Raises `timeout`; an abort by the caller's own signal
 * rejects with that signal's reason.
 */
export async function deadline<Result>(
  { name, timeoutMs, signal }: Deadline,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const expired = new AbortController()
  const expire = (): void =>
    expired.abort(new AppError('timeout', `${name} did not answer within ${timeoutMs} ms.`))
  const timer = setTimeout(expire, timeoutMs)
  const stop = signal ? AbortSignal.any([signal, expired.signal]) : expired.signal
  try {
    stop.throwIfAborted()
    return await Promise.race([call(stop), rejectOn(stop)])
  } finally {
    clearTimeout(timer)
  }
}

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

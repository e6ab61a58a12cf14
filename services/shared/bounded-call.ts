import { createContext, Script } from 'node:vm'

const script = new Script('call()')

/**
 * Runs a synchronous function that hostile input could keep busy, such as a regular expression that
 * backtracks, and ends it after `timeoutMs`. Raises what the function raises, and an error for
 * which `isOverdue` holds.
 */
export function callBounded<Result>(timeoutMs: number, call: () => Result): Result {
  // The watchdog of `vm` ends whatever runs, also code from outside of the context.
  return script.runInContext(createContext({ call }), { timeout: timeoutMs }) as Result
}

/** Returns true for the error of a call that took too long. */
export const isOverdue = (thrown: unknown): boolean =>
  typeof thrown === 'object' &&
  thrown !== null &&
  'code' in thrown &&
  thrown.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'

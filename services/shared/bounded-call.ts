import { createContext, Script } from 'node:vm'

const script = new Script('call()')

/** A machine with other work to do may keep a call from its core for as long as it may take. */
const TRIES = 3

/**
 * Runs a synchronous function that hostile input could keep busy, such as a regular expression that
 * backtracks, and ends it after `timeoutMs`. One that had no core for half of that is run again, so
 * it must have no effect. Raises what the function raises, and an error for which `isOverdue`
 * holds.
 */
export function callBounded<Result>(timeoutMs: number, call: () => Result): Result {
  for (let tries = 1; ; tries += 1) {
    const before = process.cpuUsage()
    try {
      // The watchdog of `vm` ends whatever runs, also code from outside of the context.
      return script.runInContext(createContext({ call }), { timeout: timeoutMs }) as Result
    } catch (thrown) {
      const { user, system } = process.cpuUsage(before)
      const wasBusy = (user + system) / 1000 >= timeoutMs / 2
      if (!isOverdue(thrown) || wasBusy || tries === TRIES) throw thrown
    }
  }
}

/** Returns true for the error of a call that took too long. */
export const isOverdue = (thrown: unknown): boolean =>
  typeof thrown === 'object' &&
  thrown !== null &&
  'code' in thrown &&
  thrown.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'

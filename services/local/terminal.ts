import type { Log } from '../shared/log.ts'

/** Writes a line for people to standard error; standard output is for requested data. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Reports that the log can no longer be written. */
export const sayLogLost = ({ message }: Error): void =>
  say(`The log cannot be written (${message}); the platform runs on without it.`)

/** Sends what libraries write to the console to the log. */
export function sendConsoleTo(log: Log): void {
  const write = (...said: unknown[]): void => log.debug(said.map(String).join(' '))
  Object.assign(console, { debug: write, log: write, info: write, warn: write, error: write })
}

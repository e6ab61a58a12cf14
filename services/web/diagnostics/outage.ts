import { AppError } from '../../shared/errors.ts'

/** Generous: the report cuts it shorter, once its secrets are out. */
const TEXT_LENGTH_MAX = 4000

/**
 * Explains why something could not be reached, beginning with the words of SPEC 7:
 * `ConnectionFailed: …` or `TimeoutError: …`.
 */
export function describeOutage(thrown: unknown): string {
  const text = textOf(thrown)
  return isTimeout(thrown) ? `TimeoutError: ${text}` : `ConnectionFailed: ${text}`
}

const TIMEOUTS = new Set(['ABORT_ERR', 'CONNECT_TIMEOUT', 'ETIMEDOUT', 'timeout'])

/**
 * True for an error that means that time ran out. Aborts count: our own signals are the only ones,
 * and they abort because time is up.
 */
export function isTimeout(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  return /^(Timeout|Abort)Error$/.test(thrown.name) || TIMEOUTS.has(codeOf(thrown))
}

/**
 * Returns the text of anything that was thrown, at most 4,000 characters. Never raises, although
 * values exist that cannot be converted to a string.
 */
export function textOf(thrown: unknown): string {
  try {
    const text = thrown instanceof Error ? errorText(thrown) : String(thrown)
    return text.slice(0, TEXT_LENGTH_MAX)
  } catch {
    return 'something that has no text'
  }
}

function errorText(error: Error): string {
  if (error.name === 'AbortError' && error.cause instanceof Error) return errorText(error.cause)
  // A host with several addresses: one error for each, and no text of its own.
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(textOf).join(', ')
  }
  const code = error instanceof AppError ? '' : codeOf(error)
  const message = error.message || error.name
  return code && !message.includes(code) ? `${message} (${code})` : message
}

const codeOf = (error: Error): string => ('code' in error ? String(error.code) : '')

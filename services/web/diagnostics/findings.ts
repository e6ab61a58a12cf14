import { AppError } from '../../shared/errors.ts'
import { REMEDIATION } from './failure-codes.ts'
import type { FailureCode } from './failure-codes.ts'
import type { Details, Failure, Finding } from './report.ts'

/** Generous: the report cuts it shorter, after its secrets are out. */
const TEXT_LENGTH_MAX = 4000

export type Facts = Omit<Finding, 'status' | 'error'>

export const passed = (facts: Facts = {}): Finding => ({ status: 'ok', ...facts })

export const skipped = (facts: Facts = {}): Finding => ({ status: 'skipped', ...facts })

/** A failure with its code and what to do about it. */
export function failed(code: FailureCode, error: string, facts: Facts = {}): Failure {
  const { details, ...rest } = facts
  return {
    status: 'fail',
    ...rest,
    error,
    details: { code, remediation: REMEDIATION[code], ...details },
  }
}

/** A trouble that SPEC 7 does not count as a failure: the status stays, and a reader sees it. */
export interface Warning {
  readonly code: FailureCode
  readonly message: string
  readonly remediation: string
}

export const warning = (code: FailureCode, message: string): Warning => ({
  code,
  message,
  remediation: REMEDIATION[code],
})

/** `details` with its warnings, if there are any. */
export const withWarnings = (details: Details, warnings: readonly Warning[]): Details =>
  warnings.length > 0 ? { ...details, warnings } : details

/** Why something could not be reached, beginning with the words of SPEC 7: `ConnectionFailed: …` or `TimeoutError: …`. */
export function describeOutage(thrown: unknown): string {
  const text = textOf(thrown)
  return isTimeout(thrown) ? `TimeoutError: ${text}` : `ConnectionFailed: ${text}`
}

const TIMEOUTS = new Set(['ABORT_ERR', 'CONNECT_TIMEOUT', 'ETIMEDOUT', 'timeout'])

/** Our own signals are the only ones that abort, and they do so because time is up. */
export function isTimeout(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  return /^(Timeout|Abort)Error$/.test(thrown.name) || TIMEOUTS.has(codeOf(thrown))
}

/** What was thrown, as a text, whatever it is: values exist that cannot even be made a string. */
export function textOf(thrown: unknown): string {
  try {
    const text = thrown instanceof Error ? errorText(thrown) : String(thrown)
    return text.slice(0, TEXT_LENGTH_MAX)
  } catch {
    return 'something that has no text'
  }
}

function errorText(error: Error): string {
  if (isAbort(error) && error.cause instanceof Error) return errorText(error.cause)
  // A host with several addresses: one error for each, and no text of its own.
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(textOf).join(', ')
  }
  const code = error instanceof AppError ? '' : codeOf(error)
  const message = error.message || error.name
  return code && !message.includes(code) ? `${message} (${code})` : message
}

const isAbort = (error: Error): boolean => error.name === 'AbortError'

const codeOf = (error: Error): string => ('code' in error ? String(error.code) : '')

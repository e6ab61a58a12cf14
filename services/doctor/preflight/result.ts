import { toError } from '../../shared/errors.ts'
import { PREFLIGHT_CODES, PREFLIGHT_WARNINGS } from './codes.ts'
import type { PreflightCode, PreflightWarning } from './codes.ts'

/** The result of a check; the run adds the time that it took. */
export interface Result {
  readonly status: 'ok' | 'fail' | 'skipped'
  readonly checks?: string[]
  readonly error?: string
  readonly provider?: string
  readonly details?: Record<string, unknown>
}

interface Facts {
  readonly checks?: string[]
  readonly details?: Readonly<Record<string, unknown>>
  /** Instead of the code's own. */
  readonly remediation?: string
}

/** A check that passed. */
export const passed = (checks: string[], details: Record<string, unknown> = {}): Result =>
  Object.keys(details).length > 0 ? { status: 'ok', checks, details } : { status: 'ok', checks }

/** A check that this installation does not need, and why. */
export const skipped = (reason: string): Result => ({ status: 'skipped', details: { reason } })

/** A check that failed, with its code and remedy. */
export function failed(
  code: PreflightCode,
  error: string,
  { details, remediation = PREFLIGHT_CODES[code], ...rest }: Facts = {},
): Result {
  return { status: 'fail', ...rest, error, details: { code, remediation, ...details } }
}

/** A warning with its code and remedy. */
export const warning = (code: PreflightWarning, message: string) => ({
  code,
  message,
  remediation: PREFLIGHT_WARNINGS[code],
})

/** `ConnectionFailed: …` or `TimeoutError: …`, as the report says it. */
export function describeOutage(thrown: unknown): string {
  const error = toError(thrown)
  const cause = error.cause instanceof Error ? error.cause : error
  const code = 'code' in cause ? String(cause.code) : ''
  const text = cause.message || code
  const isTimeout = /timeout|ABORT/i.test(`${error.name} ${code}`)
  return `${isTimeout ? 'TimeoutError' : 'ConnectionFailed'}: ${text}`
}

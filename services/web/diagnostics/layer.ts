import type { FailureCode } from './failure-codes.ts'
import type { Details } from './report.ts'

/** The result of one of the four layers of the designer (SPEC 2.3). */
export interface Layer {
  /** The checks that passed. */
  readonly passed: readonly string[]
  readonly failures: readonly { readonly code: FailureCode; readonly error: string }[]
  readonly details: Details
}

/** A layer of one check that passed. */
export const onePassed = (check: string): Layer => ({ passed: [check], failures: [], details: {} })

/** A layer that failed for one reason. */
export const oneFailure = (code: FailureCode, error: string, details: Details = {}): Layer => ({
  passed: [],
  failures: [{ code, error }],
  details,
})

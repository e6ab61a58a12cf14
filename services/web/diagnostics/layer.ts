import type { FailureCode } from './failure-codes.ts'
import type { Details } from './report.ts'

/** What one of the four layers of the designer (SPEC 2.3) found. */
export interface Layer {
  /** The checks that passed. */
  readonly passed: readonly string[]
  readonly failures: readonly { readonly code: FailureCode; readonly error: string }[]
  readonly details: Details
}

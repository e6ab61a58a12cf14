import type { FailureCode } from './failure-code.ts'

/** The status of a component; `skipped` means that this installation does not use it (SPEC 2.2). */
export type ComponentStatus = 'ok' | 'fail' | 'skipped'

/** A problem that is not a failure (SPEC 7): the status stays, and readers see the warning. */
export interface Warning extends FailureCode {
  readonly message: string
}

/** The members of `details` that any component may have. */
interface CommonDetails {
  readonly code?: string
  readonly remediation?: string
  readonly warnings?: readonly Warning[]
}

/** The details of one component as its readers see them: every member may be absent. */
export type ShownDetails<Details extends object> = CommonDetails & Partial<Details>

/** The fields of a finding beside its status. `Details` are those of one check. */
export interface Facts<Details extends object = object> {
  /** The names of what passed. */
  readonly checks?: readonly string[]
  readonly details?: ShownDetails<Details>
  readonly provider?: string
  readonly http_status?: number
}

/** The result of a check: the fields of SPEC 2.2 but for the latency. */
export interface Finding<Details extends object = object> extends Facts<Details> {
  readonly status: ComponentStatus
  readonly error?: string
}

/** A finding that explains a failure in words and as a code, with a remedy. */
export interface Failure<Details extends object = object> extends Finding<Details> {
  readonly status: 'fail'
  readonly error: string
  readonly details: FailureCode & Partial<Details>
}

/** A finding without trouble. The type of its details comes from where it is returned. */
export const passed = <Details extends object>(
  facts: Facts<NoInfer<Details>> = {},
): Finding<Details> => ({ status: 'ok', ...facts })

/** The finding of a component that this installation does not use. */
export const skipped = <Details extends object>(
  facts: Facts<NoInfer<Details>> = {},
): Finding<Details> => ({ status: 'skipped', ...facts })

/** A finding with the time that the check took, in milliseconds; absent when it was skipped. */
export interface ComponentResult<Details extends object = object> extends Finding<Details> {
  readonly latency_ms?: number
}

/** A failure with its code and remedy. */
export function failed<Details extends object>(
  { code, remediation }: FailureCode,
  error: string,
  facts: Facts<NoInfer<Details>> = {},
): Failure<Details> {
  const { details, ...rest } = facts
  return { status: 'fail', ...rest, error, details: Object.assign({ code, remediation }, details) }
}

/** A warning with its code and remedy. */
export const warning = ({ code, remediation }: FailureCode, message: string): Warning => ({
  code,
  message,
  remediation,
})

/** `details` with its warnings, if there are any. */
export const withWarnings = <Details extends object>(
  details: Details,
  warnings: readonly Warning[],
): Details & CommonDetails => (warnings.length > 0 ? { ...details, warnings } : details)

import type { FailureCode } from './failure-codes.ts'
import { failed, passed } from './findings.ts'
import type { Details, Failure, Finding } from './report.ts'

/** The result of one part of a component that is checked apart from the others (SPEC 2.3). */
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

/** A layer that failed as a whole component would. */
export const layerOf = ({ error, details }: Failure): Layer => oneFailure(details.code, error)

/** The finding of all layers of a component: the checks that passed, and every failure. */
export function combine(layers: readonly Layer[]): Finding {
  const checks = layers.flatMap((layer) => layer.passed)
  const failures = layers.flatMap((layer) => layer.failures)
  const details = Object.assign({}, ...layers.map((layer) => layer.details)) as Details
  const facts = { checks, ...(Object.keys(details).length > 0 ? { details } : {}) }
  const [first] = failures
  if (!first) return passed(facts)
  // A database that is unavailable keeps several layers from being read, for one reason.
  const errors = new Set(failures.map(({ error }) => error))
  return failed(first.code, [...errors].join('; '), facts)
}

import type { FailureCode } from './failure-codes.ts'
import { failed, passed } from './findings.ts'
import type { Details, Failure, Finding } from './report.ts'

export interface LayerFailure {
  readonly code: FailureCode
  readonly error: string
  /** What to do, where that depends on more than the code. */
  readonly remediation?: string
}

/** The result of one part of a component that is checked apart from the others (SPEC 2.3). */
export interface Layer {
  /** The checks that passed. */
  readonly passed: readonly string[]
  readonly failures: readonly LayerFailure[]
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
  const [first] = failures
  const remedy = first?.remediation ? { remediation: first.remediation } : {}
  const parts = layers.map((layer) => layer.details)
  const details = Object.assign({}, ...parts, remedy) as Details
  const facts = { checks, ...(Object.keys(details).length > 0 ? { details } : {}) }
  if (!first) return passed(facts)
  // A database that is unavailable keeps several layers from being read, for one reason.
  const errors = new Set(failures.map(({ error }) => error))
  return failed(first.code, [...errors].join('; '), facts)
}

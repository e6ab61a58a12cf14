import type { FailureCode } from './failure-code.ts'
import { failed, passed, withWarnings } from './finding.ts'
import type { Failure, Finding, Warning } from './finding.ts'

/** One reason for a layer to fail. */
export interface LayerFailure {
  readonly cause: FailureCode
  readonly error: string
}

/** The result of one part of a component that is checked apart from the others (SPEC 2.3). */
export interface Layer<Details extends object = object> {
  /** The names of what passed. */
  readonly passed: readonly string[]
  readonly failures: readonly LayerFailure[]
  readonly details: Partial<Details>
  readonly warnings?: readonly Warning[]
}

/** A layer of one part, which passed. */
export const onePassed = (name: string): Layer => ({ passed: [name], failures: [], details: {} })

/** A layer that failed for one reason. */
export const oneFailure = (cause: FailureCode, error: string): Layer => ({
  passed: [],
  failures: [{ cause, error }],
  details: {},
})

/** A layer that failed as a whole component would. */
export const layerOf = ({ error, details }: Failure): Layer => oneFailure(details, error)

/** The finding of all layers of a component: what passed, and every failure. */
export function combine<Details extends object>(
  layers: readonly Layer<Details>[],
): Finding<Details> {
  const checks = layers.flatMap((layer) => layer.passed)
  const failures = layers.flatMap((layer) => layer.failures)
  const details = withWarnings(
    layers.reduce<Partial<Details>>((all, layer) => ({ ...all, ...layer.details }), {}),
    layers.flatMap(({ warnings = [] }) => warnings),
  )
  const facts = { checks, ...(Object.keys(details).length > 0 ? { details } : {}) }
  const [first] = failures
  if (!first) return passed(facts)
  // A database that is unavailable keeps several layers from being read, for one reason.
  const errors = new Set(failures.map(({ error }) => error))
  return failed<Details>(first.cause, [...errors].join('; '), facts)
}

import { FIXABLE_CODES } from '../../shared/fixable-codes.ts'
import type { FixableCode } from '../../shared/fixable-codes.ts'
import { warningsOf } from '../print.ts'
import { codeOf } from '../report.ts'
import type { DoctorComponent, DoctorReport } from '../report.ts'

/** Codes of a component that keep it from saying anything else. */
const BLIND =
  /^(timeout|check_failed|db_\w+|tables_unreadable|rbac_forbidden|\w+_token|\w+_unreachable)$/

const has = (component: DoctorComponent, code: string): boolean =>
  codeOf(component) === code ||
  warningsOf(component.details ?? {}).some((warning) => warning.code === code)

/** The components that have each fixable code. Nothing else of the report is used. */
export type Findings = ReadonlyMap<FixableCode, readonly string[]>

/** Finds the codes of a report that have a fix. */
export function findFixable({ components }: DoctorReport): Findings {
  const all = Object.entries(components)
  const found = FIXABLE_CODES.map((code) => {
    const names = all.filter(([, component]) => has(component, code)).map(([name]) => name)
    return [code, names] as const
  })
  return new Map(found.filter(([, names]) => names.length > 0))
}

/**
 * Says whether a report still has a code; undefined where it cannot say, because a component that
 * had it is not there or fails in a way that hides everything else.
 */
export function stillHas(
  { components }: DoctorReport,
  code: FixableCode,
  before: readonly string[],
): boolean | undefined {
  if (Object.values(components).some((component) => has(component, code))) return true
  const asked = before.length > 0 ? before : Object.keys(components)
  const isHidden = asked.some((name) => {
    const { [name]: component } = components
    return !component || BLIND.test(codeOf(component) ?? '')
  })
  return isHidden ? undefined : false
}

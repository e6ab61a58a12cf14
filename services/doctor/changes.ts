import { isObject } from '../shared/is-object.ts'
import type { DoctorReport } from './report.ts'

const CHANGES_MAX = 40
const TEXT_LENGTH_MAX = 200

/** One fact of a report that differs from that of another one. */
interface Change {
  /** `components.database.status` */
  readonly path: string
  /** Absent where the fact is new. */
  readonly before?: unknown
  /** Absent where the fact is gone. */
  readonly now?: unknown
}

/** The facts that differ, and whether there are more than are listed. */
export interface Changes {
  readonly changes: readonly Change[]
  readonly isComplete: boolean
}

/** What differs each time: how long things took, how large they are, and which pod served. */
const PASSING = /(^|\.)(pod|\w*_(ms|seconds|bytes|bytes_per_day))$/

/** Lists the facts that differ between two reports, at most 40. */
export function compareReports(before: DoctorReport, now: DoctorReport): Changes {
  const [old, young] = [factsOf(before), factsOf(now)]
  const paths = [...new Set([...old.keys(), ...young.keys()])]
  const changes = paths
    .filter((path) => old.get(path) !== young.get(path) && !PASSING.test(path))
    .map((path) => ({
      path,
      ...(old.has(path) ? { before: old.get(path) } : {}),
      ...(young.has(path) ? { now: young.get(path) } : {}),
    }))
  return { changes: changes.slice(0, CHANGES_MAX), isComplete: changes.length <= CHANGES_MAX }
}

/** Says a change in one line. */
export function describeChange({ path, before, now }: Change): string {
  if (before === undefined) return `+ ${path}: ${show(now)}`
  return now === undefined
    ? `- ${path}: ${show(before)}`
    : `~ ${path}: ${show(before)} → ${show(now)}`
}

const show = (value: unknown): string => String(value).slice(0, TEXT_LENGTH_MAX)

/** The leaves of a report by their paths; rows by their names where they have one. */
function factsOf(value: unknown, path = '', facts = new Map<string, unknown>()) {
  const join = (key: string): string => (path === '' ? key : `${path}.${key}`)
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) factsOf(each, join(nameOf(each, index)), facts)
  } else if (isObject(value)) {
    for (const [key, each] of Object.entries(value)) factsOf(each, join(key), facts)
  } else facts.set(path, value)
  return facts
}

function nameOf(row: unknown, index: number): string {
  if (typeof row === 'string') return row
  const { name, slug } = isObject(row) ? row : {}
  const own = [name, slug].find((each) => typeof each === 'string')
  return own ?? String(index)
}

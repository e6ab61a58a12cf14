import * as v from 'valibot'
import { oneOf, whole } from '../../shared/schemas.ts'

/** What a person may decide about the output of a task. */
export const DECISIONS = ['approve', 'edit', 'reject'] as const
/** The decision of a person. */
export type Decision = (typeof DECISIONS)[number]

/** What may count as the decision when nobody decides in time. */
export const UNDECIDED = ['approve', 'reject'] as const

/** The minutes after which what nobody decided counts as decided: seven days. */
export const DECIDE_WITHIN_MINUTES = 7 * 24 * 60
/** The longest that a run may wait for a person: ninety days. */
const DECIDE_WITHIN_MINUTES_MAX = 90 * 24 * 60

/** The fields of a task or a tool that say how long a person may take, and what counts then. */
export const decisionTerms = {
  /** The minutes that the person may take. @default seven days */
  decide_within_minutes: v.optional(whole(1, DECIDE_WITHIN_MINUTES_MAX)),
  /** What counts when the person does not decide in time. @default reject */
  undecided: v.optional(oneOf(UNDECIDED)),
}

/** How long a person may take, and what counts then, as a version says it. */
export type WrittenTerms = v.InferOutput<v.ObjectSchema<typeof decisionTerms, undefined>>

/** How long a person may take, and what counts then. */
export interface ApprovalTerms {
  /** @default seven days */
  readonly withinMinutes?: number | undefined
  /** @default reject */
  readonly undecided?: (typeof UNDECIDED)[number] | undefined
}

const UNITS = [
  [24 * 60, 'day'],
  [60, 'hour'],
  [1, 'minute'],
] as const

/** Writes minutes in the largest unit of which they are a whole number. */
export function describeMinutes(minutes: number): string {
  const [size, unit] = UNITS.find(([each]) => minutes % each === 0) ?? UNITS[2]
  const count = minutes / size
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

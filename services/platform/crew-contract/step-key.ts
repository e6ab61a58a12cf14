import { createHash } from 'node:crypto'
import type { Inputs } from '../definitions/input-declarations.ts'

/** Long enough that no two steps of a run ever share one. */
const KEY_DIGITS = 32

/** The kinds of steps of a run. */
export const STEP_KINDS = ['task', 'llm', 'tool', 'approval'] as const
/** The kind of a step. */
export type StepKind = (typeof STEP_KINDS)[number]

/** The last key on the path of the decision about a call, behind those of the call's step. */
export const DECISION = 'decision'

/** The last key on the path of what a service wants in the middle of a call, by its number. */
export const askedKey = (number: number): string => `asked:${number}`

/** Returns true for a step within a call of a tool, whose result stands for it in a replay. */
export const isWithinCall = (path: readonly string[]): boolean =>
  path.some((key) => /^asked:\d+$/.test(key))

/** Returns true for a step that is a task once more: for an item of its list, or another try. */
export const isRepetition = (kind: StepKind, path: readonly string[]): boolean =>
  kind === 'task' && /^(item|try):\d+$/.test(path.at(-1) ?? '')

/** Writes a path for people: crews of Python tell calls apart by digests of what they ask. */
export const shownPath = (path: readonly string[]): string =>
  path.filter((key) => !/^[0-9a-f]{16}$/.test(key)).join(' / ')

/** What the keys of all steps of a run have in common: a hash of its version and its inputs. */
export function stepBase(versionId: number, inputs: Inputs): string {
  return digest(JSON.stringify([versionId, sortMembers(inputs)]))
}

/**
 * The key of the step at a path within a run: the same in each attempt, and another one for other
 * inputs or another version.
 */
export function stepKey(base: string, path: readonly string[]): string {
  return digest(JSON.stringify([base, ...path])).slice(0, KEY_DIGITS)
}

/** The idempotency key of a step's act towards others: the same in each attempt of a run. */
export function idempotencyKeyOf(runId: string, step: string): string {
  return digest(JSON.stringify([runId, step])).slice(0, KEY_DIGITS)
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The same value whatever the order of its members. */
function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return members.map(([name, member]: [string, unknown]) => [name, sortMembers(member)])
}

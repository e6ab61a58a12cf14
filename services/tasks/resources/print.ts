import type { Applied, Outcome } from './apply-plan.ts'
import type { FieldChange, Plan, Step } from './plan.ts'
import { problemLine } from './problems.ts'
import type { Problem } from './problems.ts'

const VALUE_LENGTH_MAX = 200
/** As many problems are printed. */
export const PROBLEMS_MAX = 200
const ACTIONS = ['create', 'change', 'delete', 'unchanged'] as const
const DONE = { create: 'created', change: 'changed', delete: 'deleted', unchanged: 'unchanged' }

const titleOf = ({ kind, name, parent }: Step): string =>
  `${kind.kind} ${JSON.stringify(name)}${parent === undefined ? '' : ` of ${parent}`}`

/** Returns a plan as people read it: each row, and its fields. */
export function printPlan({ steps }: Plan): string {
  const lines = steps
    .filter(({ action }) => action !== 'unchanged')
    .flatMap((step) => [
      `${titleOf(step)}: ${step.action}`,
      ...step.changes.map((change) => `    ${changeLine(change, step)}`),
    ])
  const counts = ACTIONS.map((action) => {
    const count = steps.filter((step) => step.action === action).length
    return action === 'unchanged' ? `${count} unchanged` : `${count} to ${action}`
  })
  return `${[...lines, `${counts.join(', ')}.`].join('\n')}\n`
}

function changeLine({ field, before, after, isSecret }: FieldChange, { action }: Step): string {
  if (isSecret) return `${field}: set, not shown`
  if (action === 'create') return `${field}: ${shown(after)}`
  return `${field}: ${shown(before)} -> ${shown(after)}`
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'none'
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text
}

/** Returns what happened to a row, in a line. */
export function printOutcome({ step, problem, made }: Outcome): string {
  if (problem !== undefined) {
    const place = step.resolved?.document.at()
    return `${problemLine({ ...place, message: `${titleOf(step)}: ${problem}` })}\n`
  }
  const more = made === undefined ? '' : `; its ${made} is not shown: replace it to see one`
  return `${DONE[step.action]} ${titleOf(step)}${more}\n`
}

/** Returns what is wrong with documents, a line each. */
export function printProblems(problems: readonly Problem[]): string {
  const lines = problems.slice(0, PROBLEMS_MAX).map(problemLine)
  const more = problems.length - lines.length
  const rest = more > 0 ? [`… and ${more} more.`] : []
  return `${[...lines, ...rest, 'Nothing was changed.'].join('\n')}\n`
}

/** Returns how a plan ended, where it did not reach its end. */
export function printBreak({ outcomes, broken }: Applied, steps: readonly Step[]): string {
  const planned = steps.filter(({ action }) => action !== 'unchanged').length
  const done = outcomes.filter(({ problem }) => problem === undefined).length
  return (
    `${broken}\n${done} of ${planned} changes are known to be made. Apply again: it continues ` +
    'with what is missing.\n'
  )
}

/** Returns a plan and what happened to it as JSON. */
export function toJson(
  { steps, problems }: Plan,
  applied: Applied | undefined,
): Record<string, unknown> {
  const outcomes = new Map(applied?.outcomes.map((outcome) => [outcome.step, outcome]))
  const documents = steps.map((step) => {
    const outcome = outcomes.get(step)
    const place = step.resolved?.document.at()
    return {
      kind: step.kind.kind,
      name: step.name,
      parent: step.parent ?? null,
      action: step.action,
      ...(place && { file: place.file, line: place.line }),
      changes: step.changes.map(({ field, before = null, after = null, isSecret }) =>
        isSecret ? { field, secret: true } : { field, before, after },
      ),
      done: outcome !== undefined && outcome.problem === undefined,
      ...(outcome?.problem !== undefined && { problem: outcome.problem }),
    }
  })
  return { documents, problems, ...(applied?.broken !== undefined && { broken: applied.broken }) }
}

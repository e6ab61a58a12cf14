import { AppError } from '../../shared/errors.ts'
import { DECISION } from '../crew-contract/step-key.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import type { ListedStep } from './run-steps.ts'
import { orderTasks } from '../definitions/task-order.ts'

/** The steps of a run in the order in which they began first, and the tasks of its version. */
interface Performed {
  readonly steps: readonly ListedStep[]
  readonly tasks: CrewDefinition['tasks']
}

/**
 * Returns the finished steps that a run keeps which goes on from the step that is named by its key,
 * or from a task by its own; without one, all that finished. Those that may depend on it are done
 * again: what it is a part of and what is a part of it, what began after its end within its task,
 * and the tasks that wait for that one; so are decisions about calls that are. Raises
 * `unprocessable` for a step that did not begin.
 */
export function stepsToKeep(performed: Performed, fromStep: string | undefined): ListedStep[] {
  const independent = independentSteps(performed, fromStep)
  return independent.filter((step) => step.kind !== 'approval' || isUsed(step, independent))
}

function independentSteps(performed: Performed, fromStep: string | undefined): ListedStep[] {
  const finished = performed.steps.filter(({ state }) => state === 'finished')
  if (fromStep === undefined) return finished
  const from = findStep(performed, fromStep)
  const aboveOf = ancestry(performed.steps)
  const around = new Set(aboveOf(from))
  const mayDepend = dependence(performed, from, aboveOf)
  return finished.filter(
    (step) => !around.has(step) && !aboveOf(step).includes(from) && !mayDepend(step),
  )
}

/** Returns false for the decision about a call that is made again: no person has allowed that. */
function isUsed({ name, path }: ListedStep, kept: readonly ListedStep[]): boolean {
  if (path.at(-1) !== DECISION) return true
  const place = path.slice(0, -1).join('/')
  return kept.some(
    (step) =>
      step.kind === 'tool' &&
      (place === `tool:${name}` ? step.name === name : step.path.join('/') === place),
  )
}

type Above = (step: ListedStep) => ListedStep[]

/** Returns what tells a step and all that it is a part of. */
function ancestry(steps: readonly ListedStep[]): Above {
  const byKey = new Map(steps.map((step) => [step.key, step]))
  return (step) => {
    const above = new Set<ListedStep>()
    for (let at: ListedStep | undefined = step; at && !above.has(at);) {
      above.add(at)
      at = at.parent === null ? undefined : byKey.get(at.parent)
    }
    return [...above]
  }
}

function dependence({ steps, tasks }: Performed, from: ListedStep, aboveOf: Above) {
  const taskOf = (step: ListedStep): string | undefined =>
    aboveOf(step).findLast(({ kind }) => kind === 'task')?.name
  const known = new Set(tasks.map(({ key }) => key))
  const fromTask = taskOf(from)
  const waiting = tasksBehind(tasks, fromTask)
  const places = new Map(steps.map((step, place) => [step, place]))
  const placeOf = (step: ListedStep): number => places.get(step) ?? 0
  const isOtherItem = otherItems(from, aboveOf)
  return (step: ListedStep): boolean => {
    const task = taskOf(step)
    const isElsewhere = task !== fromTask && known.has(task ?? '') && known.has(fromTask ?? '')
    if (isElsewhere) return waiting.has(task ?? '')
    if (isOtherItem(step)) return false
    // What began before this one, or beside it, was begun without its result. Times are those of a
    // crew, so they are compared within one attempt only.
    if (placeOf(step) < placeOf(from)) return false
    const isBeside = from.endedAt === null || step.startedAt < from.endedAt
    return !(isBeside && step.attempt === from.attempt)
  }
}

/** Returns what finds the steps of other items of the same list, which know nothing of this one. */
function otherItems(from: ListedStep, aboveOf: Above) {
  const itemOf = (step: ListedStep): ListedStep | undefined =>
    aboveOf(step).find(({ path }) => path.at(-1)?.startsWith('item:'))
  const fromItem = itemOf(from)
  return (step: ListedStep): boolean => {
    const item = itemOf(step)
    return item !== undefined && fromItem !== undefined && item !== fromItem
  }
}

/** Returns the tasks that wait for one, directly or for others that do. */
function tasksBehind(tasks: CrewDefinition['tasks'], first: string | undefined): Set<string> {
  const behind = new Set<string>()
  orderTasks(tasks).forEach(({ after }, index) => {
    const key = tasks[index]?.key ?? ''
    if (after.some((each) => each === first || behind.has(each))) behind.add(key)
  })
  return behind
}

function findStep({ steps, tasks }: Performed, name: string): ListedStep {
  const found =
    steps.find(({ key }) => key === name) ??
    steps.find((step) => step.kind === 'task' && step.name === name)
  if (found) return found
  const begun = steps.filter(({ kind }) => kind === 'task').map((step) => step.name)
  const known = begun.length === 0 ? 'None of its tasks began.' : `Tasks: ${begun.join(', ')}.`
  const isLater = tasks.some(({ key }) => key === name)
  throw new AppError(
    'unprocessable',
    isLater
      ? `The task ${name} did not begin in this run, so it is done in any case. Leave from_step ` +
          `out, or name one that began. ${known}`
      : `The run has no step ${JSON.stringify(name.slice(0, 64))} that began. ${known}`,
    { details: { tasks: begun } },
  )
}

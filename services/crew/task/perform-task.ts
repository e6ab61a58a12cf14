import * as v from 'valibot'
import { fillIn } from '../../platform/definitions/crew-definition.ts'
import type { Task } from '../../platform/definitions/crew-definition.ts'
import { excerpt } from '../../platform/crew-contract/event-text.ts'
import { DECISIONS } from '../../platform/approvals/approval-decisions.ts'
import { ITEM } from '../../platform/definitions/task-control.ts'
import { isDone } from '../prompts.ts'
import type { TaskOutput } from '../prompts.ts'
import { reportArtifact } from '../report-artifact.ts'
import { stepFailure, RESULT_CHARACTERS_MAX } from '../steps.ts'
import type { Steps } from '../steps.ts'
import { decide } from './decide.ts'
import type { TaskDeps } from './task-deps.ts'
import { teamOf } from './team.ts'
import { produceInTries } from './tries.ts'
import type { AssignedTask } from './output.ts'

const decided = v.object({ decision: v.picklist(DECISIONS), text: v.optional(v.string()) })

const taskResult = v.object({ output: v.string(), skipped: v.optional(v.string()) })

const now = (): string => new Date().toISOString()

/** The outputs that a task gets, and those of all tasks that it waited for. */
interface Earlier {
  readonly context: readonly TaskOutput[]
  readonly before: readonly TaskOutput[]
}

/** Performs a task as a step of its own, or skips it, and reports it. */
export async function performTask(
  deps: TaskDeps,
  task: Task,
  { context, before }: Earlier,
): Promise<TaskOutput> {
  const { definition, inputs, steps } = deps
  const team = teamOf(definition, task)
  const { agent } = team
  const { key } = task
  const role = fillIn(agent.role, inputs)
  const place = { kind: 'task', path: [key], name: key, schema: taskResult } as const
  const result = await steps.perform(place, async ({ step }) => {
    const names = { task: key, agent: agent.key, step }
    const description = excerpt(fillIn(task.description, inputs))
    steps.report({ type: 'task_started', at: now(), ...names, agent_role: role, description })
    const { skipped, items } = decide(task, { inputs, outputs: before.filter(isDone) })
    if (skipped !== undefined) {
      steps.report({ type: 'task_completed', at: now(), ...names, output: '', skipped })
      return { output: '', skipped }
    }
    const assigned = { ...team, task, context: context.filter(isDone), path: [key], name: key }
    const answer = await (items
      ? produceEach(deps, assigned, items)
      : produceInTries(deps, assigned))
    const output = task.human_input === true ? await askPerson(steps, key, answer) : answer
    reportArtifact(steps, { definition, inputs, task, step, output })
    steps.report({ type: 'task_completed', at: now(), ...names, output })
    return { output }
  })
  return { task: key, role, ...result }
}

/**
 * Returns the output of a task on which a person decided. Raises a failure when that was rejected.
 */
async function askPerson(steps: Steps, task: string, proposed: string): Promise<string> {
  const input = { output: excerpt(proposed) }
  const path = [task, 'approval', '0']
  const request = { task, output: proposed }
  const place = { kind: 'approval', path, name: task, input, request, schema: decided } as const
  const { decision, text = '' } = await steps.perform(place, async ({ step }) =>
    steps.park({ type: 'approval_requested', step, task, output: proposed }),
  )
  if (decision === 'approve') return proposed
  if (decision === 'edit') return text
  const why = text === '' ? '' : ` Reason: ${text}`
  const message = `The output of the task ${task} was rejected.${why}`
  throw stepFailure({ code: 'approval_rejected', message })
}

const PARALLEL = 4
/** What the page of a run shows of an item. */
const SHOWN_CHARACTERS = 200

const done = v.object({ output: v.string() })

/**
 * Lets an agent do a task for each item, some at a time, each as a step of its own. Returns the
 * list of the outputs in the order of the items, as JSON. Raises the first failure, after which no
 * further item begins.
 */
async function produceEach(
  deps: TaskDeps,
  assigned: AssignedTask,
  items: readonly unknown[],
): Promise<string> {
  const { steps } = deps
  const { parallel = PARALLEL } = assigned.task
  const outputs: string[] = []
  const failures: unknown[] = []
  let next = 0
  let characters = 0
  async function workOff(): Promise<void> {
    while (next < items.length) {
      const index = next
      next += 1
      try {
        const output = await produceItem(deps, assigned, { index, item: items[index] })
        outputs[index] = output
        characters += output.length
        if (characters > RESULT_CHARACTERS_MAX) throw tooLong(assigned)
      } catch (thrown) {
        failures.push(thrown)
        // What waits lets the others get as far as they can.
        if (steps.askedBy(thrown)) continue
        next = items.length
        if (!steps.isHandOver(thrown)) steps.halt()
      }
    }
  }
  await Promise.all(Array.from({ length: parallel }, workOff))
  if (failures.length === 0) return listOf(assigned, outputs)
  const isPause = (thrown: unknown): boolean =>
    steps.isHandOver(thrown) || steps.askedBy(thrown) !== undefined
  throw failures.find((each) => !isPause(each)) ?? failures[0]
}

async function produceItem(
  deps: TaskDeps,
  assigned: AssignedTask,
  { index, item }: { readonly index: number; readonly item: unknown },
): Promise<string> {
  const path = [...assigned.path, `item:${index}`]
  const name = `${assigned.name}[${index}]`
  const input = { [ITEM]: excerpt(fillIn(`{${ITEM}}`, { [ITEM]: item }), SHOWN_CHARACTERS) }
  const step = { kind: 'task', path, name, input, schema: done } as const
  const { output } = await deps.steps.perform(step, async () => {
    const inputs = { ...deps.inputs, [ITEM]: item }
    return { output: await produceInTries({ ...deps, inputs }, { ...assigned, path, name }) }
  })
  return output
}

/** An item of an `output_schema` is JSON already. */
const listOf = ({ task }: AssignedTask, outputs: readonly string[]): string =>
  task.output_schema ? `[${outputs.join(',')}]` : JSON.stringify(outputs)

function tooLong({ task }: AssignedTask) {
  const message =
    `The outputs of the task ${task.key} have more than ${RESULT_CHARACTERS_MAX} characters ` +
    'together. Let each item return less.'
  return stepFailure({ code: 'result_too_large', message })
}

import * as v from 'valibot'
import { excerpt } from '../../platform/crew-contract/event-text.ts'
import { fillIn } from '../../platform/definitions/crew-definition.ts'
import { ITEM } from '../../platform/definitions/task-control.ts'
import { RESULT_CHARACTERS_MAX, stepFailure } from '../steps.ts'
import type { AssignedTask } from './output.ts'
import type { TaskDeps } from './task-deps.ts'
import { produceInTries } from './tries.ts'

const PARALLEL = 4
/** What the page of a run shows of an item. */
const SHOWN_CHARACTERS = 200

const done = v.object({ output: v.string() })

/**
 * Lets an agent do a task for each item, some at a time, each as a step of its own. Returns the
 * list of the outputs in the order of the items, as JSON. Raises the first failure, after which no
 * further item begins.
 */
export async function produceEach(
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

import type { JSONPathQuery, JSONValue } from 'json-p3'
import * as v from 'valibot'
import { callBounded } from '../../shared/bounded-call.ts'
import { condition, EXPRESSION_MS, namesIn } from '../../shared/conditions.ts'
import type { Named } from '../../shared/conditions.ts'
import { closedObject } from '../../shared/describe-issue.ts'
import { toError } from '../../shared/errors.ts'
import { readCondition, readPath } from '../../shared/json-path.ts'
import { oneOf, whole } from '../../shared/schemas.ts'
import { factsOf } from './guardrails.ts'
import { orderTasks } from './task-order.ts'
import type { OrderedTask } from './task-order.ts'

/** The failures after which a task may be tried again. */
export const RETRIED_FAILURES = [
  'llm_rejected',
  'llm_unreachable',
  'llm_timeout',
  'llm_invalid_response',
  'max_iterations',
  'invalid_tool_call',
  'invalid_output',
  'guardrail_failed',
  'task_timeout',
] as const

/** The most items that a task is done for. */
const ITEMS_MAX = 10_000
/** The placeholder of a task that is done for each item. */
export const ITEM = 'item'

const LIST_EXAMPLE = 'Write the path of a list, such as $.inputs.cities or $.outputs.find.json'

/** The fields of a task that say whether it is done, how often and for how long. */
export const taskControl = {
  /**
   * The condition, over `@.inputs` and `@.outputs`, under which it is done and not skipped.
   * @default always
   */
  when: v.optional(condition('@.inputs.language == "de" && @.outputs.rate.json.score >= 0.5')),
  /** The path of a list: the task is done for each item, which is `{item}` in its texts. */
  for_each: v.optional(
    v.pipe(
      v.string('must be a text'),
      v.maxLength(2000, 'must have at most 2000 characters'),
      v.rawCheck(({ dataset, addIssue }) => {
        const problem = dataset.typed ? pathProblem(dataset.value) : undefined
        if (problem !== undefined) addIssue({ message: problem })
      }),
    ),
  ),
  /** The items that it is done for at a time. @default 4 */
  parallel: v.optional(whole(1, 16)),
  /** How often it is tried again, for each item. @default not at all */
  retry: v.optional(
    closedObject({
      /** How often at the most, after the first time. */
      times: whole(1, 10),
      /** Before the second time; twice as long each time after that. @default 1 */
      wait_seconds: v.optional(whole(0, 600)),
      /** After which failures. @default all of these */
      on: v.optional(
        v.pipe(
          v.array(oneOf(RETRIED_FAILURES), 'must be a list'),
          v.minLength(1, 'must not be empty'),
        ),
      ),
    }),
  ),
  /** The time that it may take, for each item and each time. @default that of the run */
  timeout_seconds: v.optional(whole(1, 86_400)),
}

function pathProblem(path: string): string | undefined {
  try {
    readPath(path)
    return undefined
  } catch (thrown) {
    return `cannot be read: ${toError(thrown).message}. ${LIST_EXAMPLE}`
  }
}

/** A task of a crew with its texts, as far as they are looked at here. */
interface ControlledTask extends OrderedTask {
  readonly description: string
  readonly expected_output: string
  readonly when?: string | undefined
  readonly for_each?: string | undefined
  readonly parallel?: number | undefined
}

/** Something wrong with a field of a task. */
interface TaskProblem {
  /** The place of the task. */
  readonly index: number
  readonly field: string
  readonly message: string
}

/** Returns the problems with what tasks name in conditions and paths; `inputs` has all names. */
export function controlProblems(
  tasks: readonly ControlledTask[],
  inputs: readonly string[],
): TaskProblem[] {
  const orders = orderTasks(tasks)
  return tasks.flatMap((task, index) => {
    const { when, for_each: list, parallel } = task
    const known = { inputs, outputs: orders[index]?.after ?? [], keys: tasks.map(({ key }) => key) }
    const at = (field: string, messages: readonly string[]): TaskProblem[] =>
      messages.map((message) => ({ index, field, message }))
    return [
      ...at('when', when === undefined ? [] : nameProblems(() => readCondition(when), known)),
      ...at('for_each', list === undefined ? [] : listProblems(task, list, known)),
      ...at('parallel', parallel === undefined || list !== undefined ? [] : ['needs for_each']),
    ]
  })
}

interface Known {
  readonly inputs: readonly string[]
  /** The tasks that are done before. */
  readonly outputs: readonly string[]
  /** All tasks. */
  readonly keys: readonly string[]
}

function listProblems(task: ControlledTask, list: string, known: Known): string[] {
  const isNamed = [task.description, task.expected_output].some((text) =>
    text.includes(`{${ITEM}}`),
  )
  return [
    ...nameProblems(() => readPath(list), known),
    ...(isNamed ? [] : [`needs {${ITEM}} in the description: each item would be asked the same`]),
    ...(known.inputs.includes(ITEM)
      ? [`gives {${ITEM}} to its texts, so no input can have this name: rename it`]
      : []),
  ]
}

/** What cannot be read has another problem. */
function nameProblems(read: () => JSONPathQuery, known: Known): string[] {
  try {
    return namesIn(read()).flatMap(checkIn(known))
  } catch {
    return []
  }
}

const checkIn =
  ({ inputs, outputs, keys }: Known) =>
  ({ root, name, isOfWhole = false }: Named): string[] => {
    if (isOfWhole) return ['has a path that begins with $; in a condition it begins with @']
    if (root !== 'inputs' && root !== 'outputs') {
      return [`looks at ${root ?? 'all'}; there are only inputs and outputs`]
    }
    if (name === undefined) return [`names none of the ${root}`]
    if (root === 'inputs') {
      return inputs.includes(name) ? [] : [`names the input ${name}; declare it under inputs`]
    }
    if (outputs.includes(name)) return []
    return keys.includes(name)
      ? [`names the output of ${name}, which this task does not wait for`]
      : [`names the output of ${name}, which is not a task of this crew`]
  }

/** The output of a task that is done. */
interface EarlierOutput {
  readonly task: string
  readonly output: string
}

/** What conditions and paths of tasks look at. */
export interface ControlFacts {
  readonly inputs: Readonly<Record<string, unknown>>
  readonly outputs: readonly EarlierOutput[]
}

const toJson = ({ inputs, outputs }: ControlFacts): JSONValue => ({
  // They were read from JSON.
  inputs: inputs as JSONValue,
  outputs: Object.fromEntries(outputs.map(({ task, output }) => [task, factsOf(output)])),
})

/** Returns whether the condition of a task holds. Raises an error after a second without an end. */
export const whenHolds = (condition: string, facts: ControlFacts): boolean =>
  callBounded(EXPRESSION_MS, () => readCondition(condition).query([toJson(facts)]).length > 0)

/**
 * Returns the items at the path of a list: those of the list that it leads to, or all that it
 * finds; none where the path leads to the output of a task that was skipped, or to an input that
 * was not given. Raises an error that says what is there instead of a list, for too many, and after
 * a second without an end.
 */
export function listItems(path: string, facts: ControlFacts): JSONValue[] {
  const query = readPath(path)
  const found = callBounded(EXPRESSION_MS, () => query.query(toJson(facts)).values())
  const items = query.singularQuery() ? itemsOf(found[0], namesIn(query), facts) : found
  if (items.length <= ITEMS_MAX) return items
  throw new Error(`it has ${items.length} items, and ${ITEMS_MAX} is the most`)
}

function itemsOf(
  value: JSONValue | undefined,
  [named]: readonly Named[],
  { outputs }: ControlFacts,
): JSONValue[] {
  if (Array.isArray(value)) return value
  const isSkipped = named?.root === 'outputs' && outputs.every(({ task }) => task !== named.name)
  if (isSkipped || value === '') return []
  const kind = value === null ? 'null' : typeof value
  throw new Error(
    value === undefined ? 'nothing is there' : `there is no list, but a value of the type ${kind}`,
  )
}

import * as v from 'valibot'
import { toolKey } from '../tools/tool-definitions.ts'

/** The keys of tasks, each once. */
export const taskContext = v.pipe(
  v.array(toolKey, 'must be a list of the keys of tasks'),
  v.check((list) => new Set(list).size === list.length, 'must not name one twice'),
)

/** What a task says about its order. */
export interface OrderedTask {
  readonly key: string
  readonly context?: readonly string[] | undefined
  readonly async?: boolean | undefined
}

/** When a task may start, and what it gets. */
interface TaskOrder {
  /** The keys of the tasks that have to be done before. */
  readonly after: readonly string[]
  /** The keys of the tasks whose outputs it gets, in this order. */
  readonly context: readonly string[]
}

/**
 * Returns the order of tasks: a task waits for all that come before it; an async one only for those
 * of them that are not async, and for its context.
 */
export function orderTasks(tasks: readonly OrderedTask[]): TaskOrder[] {
  return tasks.map(({ context, async: isAsync = false }, index) => {
    const before = tasks.slice(0, index)
    const keys = before.map(({ key }) => key)
    if (!isAsync) return { after: keys, context: context ?? keys }
    const inTurn = before.filter((each) => each.async !== true).map(({ key }) => key)
    return { after: [...new Set([...inTurn, ...(context ?? [])])], context: context ?? [] }
  })
}

/** Returns the problems with the contexts of tasks: only tasks before one can be its context. */
export function contextProblems(tasks: readonly OrderedTask[]): string[] {
  const keys = tasks.map(({ key }) => key)
  return tasks.flatMap(({ key, context = [] }, index) =>
    context.flatMap((named) => {
      const place = keys.indexOf(named)
      if (place >= 0 && place < index) return []
      return `the context of the task ${key} names ${named}, ${whyNot(place, index)}`
    }),
  )
}

function whyNot(place: number, index: number): string {
  if (place < 0) return 'which is not a task of this crew'
  return place === index
    ? 'the task itself; it can only name tasks before it'
    : 'which comes after it; move that task before it, or leave it out'
}

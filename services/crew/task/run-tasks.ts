import { orderTasks } from '../../platform/definitions/task-order.ts'
import type { OrderedTask } from '../../platform/definitions/task-order.ts'

interface TasksRun<Task, Output> {
  readonly tasks: readonly Task[]
  /** Performs a task with the outputs of its context; all that it waited for come after that. */
  readonly perform: (
    task: Task,
    context: readonly Output[],
    before: readonly Output[],
  ) => Promise<Output>
  /** Returns true for what ends a task without failing the run: it goes on in a later attempt. */
  readonly isPause: (thrown: unknown) => boolean
  /** Called when the run has failed: the tasks that go on should end soon. */
  readonly halt: () => void
}

/**
 * Performs tasks in their order, each with the outputs of its context, and returns their outputs.
 * When one ends without an output, all that do not wait for it are done first. Then raises the
 * failure that came first, else the first pause in the order of the tasks.
 */
export async function runTasks<Task extends OrderedTask, Output>(
  run: TasksRun<Task, Output>,
): Promise<Output[]> {
  const { tasks, perform, isPause, halt } = run
  const orders = orderTasks(tasks)
  const begun = new Map<string, Promise<Output>>()
  const failures: unknown[] = []

  async function start(task: Task, index: number): Promise<Output> {
    const { after = [], context = [] } = orders[index] ?? {}
    const outputsOf = (keys: readonly string[]) =>
      Promise.all(keys.flatMap((key) => begun.get(key) ?? []))
    const before = await outputsOf(after)
    try {
      return await perform(task, await outputsOf(context), before)
    } catch (thrown) {
      if (!isPause(thrown)) {
        failures.push(thrown)
        halt()
      }
      throw thrown
    }
  }

  for (const [index, task] of tasks.entries()) begun.set(task.key, start(task, index))
  const ended = await Promise.allSettled(begun.values())
  if (failures.length > 0) throw failures[0]
  return ended.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}

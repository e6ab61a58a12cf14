import type { Task } from '../../platform/definitions/crew-definition.ts'
import { listItems, whenHolds } from '../../platform/definitions/task-control.ts'
import type { ControlFacts } from '../../platform/definitions/task-control.ts'
import type { RunErrorCode } from '../../platform/runs/run-errors.ts'
import { isOverdue } from '../../shared/bounded-call.ts'
import { toError } from '../../shared/errors.ts'
import { stepFailure } from '../steps.ts'

/** Why a task is skipped, or the items that it is done for; neither: it is done once. */
interface Decision {
  readonly skipped?: string
  readonly items?: readonly unknown[]
}

/**
 * Decides about a task by its inputs and the outputs before it: the same in each attempt. Raises
 * `condition_unusable` and `list_unusable`.
 */
export function decide({ key, when, for_each: list }: Task, facts: ControlFacts): Decision {
  const holds =
    when === undefined ||
    evaluate('condition_unusable', `The condition ${when} of the task ${key}`, () =>
      whenHolds(when, facts),
    )
  if (!holds) return { skipped: `The condition ${when} does not hold.` }
  if (list === undefined) return {}
  const items = evaluate('list_unusable', `The list ${list} of the task ${key}`, () =>
    listItems(list, facts),
  )
  return items.length === 0 ? { skipped: `The list ${list} is empty.` } : { items }
}

/** Returns what an expression of a task gives. Raises a failure for one that cannot be used. */
export function evaluate<Result>(
  code: RunErrorCode,
  subject: string,
  expression: () => Result,
): Result {
  try {
    return expression()
  } catch (thrown) {
    const why = isOverdue(thrown) ? 'it takes longer than a second' : toError(thrown).message
    throw stepFailure({ code, message: `${subject} cannot be used: ${why}.` })
  }
}

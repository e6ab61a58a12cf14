import * as v from 'valibot'
import { DECISIONS } from '../../platform/definitions/approval-decisions.ts'
import { excerpt } from '../../platform/crew-contract/event-text.ts'
import { stepFailure } from '../steps.ts'
import type { Steps } from '../steps.ts'

const decided = v.object({ decision: v.picklist(DECISIONS), text: v.optional(v.string()) })

/**
 * Returns the output of a task on which a person decided. Raises a failure when that was rejected.
 */
export async function askPerson(steps: Steps, task: string, proposed: string): Promise<string> {
  const input = { output: excerpt(proposed) }
  const path = [task, 'approval', '0']
  const place = { kind: 'approval', path, name: task, input, schema: decided } as const
  const { decision, text = '' } = await steps.perform(place, async ({ step }) =>
    steps.park({ step, task, output: proposed }),
  )
  if (decision === 'approve') return proposed
  if (decision === 'edit') return text
  const why = text === '' ? '' : ` Reason: ${text}`
  const message = `The output of the task ${task} was rejected.${why}`
  throw stepFailure({ code: 'approval_rejected', message })
}

import * as v from 'valibot'
import { fillIn } from '../../platform/definitions/crew-definition.ts'
import type { Task } from '../../platform/definitions/crew-definition.ts'
import { excerpt } from '../../platform/crew-contract/event-text.ts'
import { isDone } from '../prompts.ts'
import type { TaskOutput } from '../prompts.ts'
import { reportArtifact } from '../report-artifact.ts'
import { decide } from './decide.ts'
import { produceEach } from './each-item.ts'
import type { TaskDeps } from './task-deps.ts'
import { teamOf } from './team.ts'
import { produceInTries } from './tries.ts'
import { DECISIONS } from '../../platform/approvals/approval-decisions.ts'
import { stepFailure } from '../steps.ts'
import type { Steps } from '../steps.ts'

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

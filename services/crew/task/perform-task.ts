import * as v from 'valibot'
import { fillIn } from '../../platform/crew-definition.ts'
import type { Agent, CrewDefinition, Task } from '../../platform/crew-definition.ts'
import { excerpt } from '../../platform/crew-protocol.ts'
import type { TaskOutput } from '../prompts.ts'
import { reportArtifact } from '../report-artifact.ts'
import { askPerson } from './approval.ts'
import { produceOutput } from './output.ts'
import type { TaskDeps } from './task-deps.ts'

const taskResult = v.object({ output: v.string() })

const now = (): string => new Date().toISOString()

/** Performs a task as a step of its own, with the outputs of its context, and reports it. */
export async function performTask(
  deps: TaskDeps,
  task: Task,
  context: readonly TaskOutput[],
): Promise<TaskOutput> {
  const { definition, inputs, steps } = deps
  const agent = agentOf(definition, task)
  const role = fillIn(agent.role, inputs)
  const place = { kind: 'task', path: [task.key], name: task.key, schema: taskResult } as const
  const { output } = await steps.perform(place, async ({ step }) => {
    const names = { task: task.key, agent: agent.key, step }
    const description = excerpt(fillIn(task.description, inputs))
    steps.report({ type: 'task_started', at: now(), ...names, agent_role: role, description })
    const answer = await produceOutput(deps, { task, agent, context })
    const output = task.human_input === true ? await askPerson(steps, task.key, answer) : answer
    reportArtifact(steps, { definition, inputs, task, step, output })
    steps.report({ type: 'task_completed', at: now(), ...names, output })
    return { output }
  })
  return { task: task.key, role, output }
}

function agentOf({ agents }: CrewDefinition, task: Task): Agent {
  const agent = agents.find(({ key }) => key === task.agent)
  if (!agent) throw new Error(`no agent ${task.agent}: the definition was not checked`)
  return agent
}

import * as v from 'valibot'
import { fillIn } from '../platform/crew-definition.ts'
import type { Agent, CrewDefinition, Task } from '../platform/crew-definition.ts'
import { DECISIONS } from '../platform/approval-decisions.ts'
import { excerpt } from '../platform/crew-protocol.ts'
import { AppError } from '../shared/errors.ts'
import type { Llm } from './llm.ts'
import { openMaterial } from './material/material.ts'
import type { Material } from './material/material.ts'
import { promptFor } from './prompts.ts'
import type { TaskOutput } from './prompts.ts'
import { reportArtifact } from './report-artifact.ts'
import { runAgent } from './run-agent.ts'
import { failureOf, stepFailure } from './steps.ts'
import type { Steps } from './steps.ts'
import { openToolbox } from './tools/toolbox.ts'
import type { Toolbox } from './tools/toolbox.ts'
import type { ToolDeps } from './tools/tool-deps.ts'

interface CrewRunDeps {
  readonly definition: CrewDefinition
  readonly llmFor: (model: string) => Llm
  readonly steps: Steps
  readonly toolDeps: ToolDeps
  /** @default what the definition and the inputs give without files */
  readonly material?: Material
}

type Inputs = Readonly<Record<string, unknown>>

const now = (): string => new Date().toISOString()

/**
 * Runs the tasks of a crew one after the other, each with the outputs of those before it, and
 * reports its progress. Ends with `crew_completed`, `failed`, `handed_over` or
 * `approval_requested`; an aborted run ends by raising the signal's reason.
 */
export async function runCrew(deps: CrewRunDeps, inputs: Inputs): Promise<void> {
  const { definition, steps } = deps
  steps.report({ type: 'crew_started', at: now(), crew: definition.name })
  let toolbox: Toolbox | undefined
  try {
    const material = deps.material ?? openMaterial({ definition, inputs })
    toolbox = material.withTools(openToolbox(deps.toolDeps, definition.tools ?? {}))
    const context: TaskOutput[] = []
    for (const task of definition.tasks) {
      context.push(await performTask(deps, { task, inputs, context, toolbox, material }))
    }
    const output = context.at(-1)?.output ?? ''
    steps.report({ type: 'crew_completed', at: now(), output, usage: steps.usage() })
  } catch (thrown) {
    await steps.settle()
    const asked = steps.askedBy(thrown)
    if (asked) return steps.report({ type: 'approval_requested', at: now(), ...asked })
    if (steps.isHandOver(thrown)) return steps.report({ type: 'handed_over', at: now() })
    if (!(thrown instanceof AppError)) throw thrown
    steps.report({ type: 'failed', at: now(), error: failureOf(thrown) })
  } finally {
    await toolbox?.close()
  }
}

interface TaskCall {
  readonly task: Task
  readonly inputs: Inputs
  readonly context: readonly TaskOutput[]
  readonly toolbox: Toolbox
  readonly material: Material
}

const taskResult = v.object({ output: v.string() })

async function performTask(deps: CrewRunDeps, call: TaskCall): Promise<TaskOutput> {
  const { definition, steps } = deps
  const { task, inputs, toolbox } = call
  const agent = agentOf(definition, task)
  const role = fillIn(agent.role, inputs)
  const place = { kind: 'task', path: [task.key], name: task.key, schema: taskResult } as const
  const { output } = await steps.perform(place, async ({ step }) => {
    const names = { task: task.key, agent: agent.key, step }
    const description = excerpt(fillIn(task.description, inputs))
    steps.report({ type: 'task_started', at: now(), ...names, agent_role: role, description })
    const answer = await runAgent({
      place: { task: task.key, agent: agent.key },
      call: agent.llm ?? definition.llm,
      messages: promptFor({ ...call, agent }),
      llmFor: deps.llmFor,
      steps,
      toolbox,
      tools: toolbox.toolsFor(agent),
      maxIterations: agent.max_iterations,
    })
    const output = task.human_input === true ? await askPerson(steps, task, answer) : answer
    reportArtifact(steps, { definition, inputs, task, step, output })
    steps.report({ type: 'task_completed', at: now(), ...names, output })
    return { output }
  })
  return { task: task.key, role, output }
}

const decided = v.object({ decision: v.picklist(DECISIONS), text: v.optional(v.string()) })

/** Returns the output on which a person decided. Raises a failure when that was rejected. */
async function askPerson(steps: Steps, { key }: Task, proposed: string): Promise<string> {
  const input = { output: excerpt(proposed) }
  const path = [key, 'approval', '0']
  const place = { kind: 'approval', path, name: key, input, schema: decided } as const
  const { decision, text = '' } = await steps.perform(place, async ({ step }) =>
    steps.park({ step, task: key, output: proposed }),
  )
  if (decision === 'approve') return proposed
  if (decision === 'edit') return text
  const why = text === '' ? '' : ` Reason: ${text}`
  const message = `The output of the task ${key} was rejected.${why}`
  throw stepFailure({ code: 'approval_rejected', message })
}

function agentOf({ agents }: CrewDefinition, task: Task): Agent {
  const agent = agents.find(({ key }) => key === task.agent)
  if (!agent) throw new Error(`no agent ${task.agent}: the definition was not checked`)
  return agent
}

import type { CrewDefinition } from '../platform/definitions/crew-definition.ts'
import { AppError } from '../shared/errors.ts'
import type { Llm } from '../shared/models/llm.ts'
import { openMaterial } from './material/material.ts'
import type { Material } from './material/material.ts'
import { isDone } from './prompts.ts'
import type { TaskOutput } from './prompts.ts'
import { failureOf } from './steps.ts'
import type { Steps } from './steps.ts'
import { performTask } from './task/perform-task.ts'
import { runTasks } from './task/run-tasks.ts'
import { openToolbox } from './tools/toolbox.ts'
import type { Toolbox } from './tools/toolbox.ts'
import type { ToolDeps } from './tools/tool-deps.ts'

interface CrewRunDeps {
  readonly definition: CrewDefinition
  readonly llmFor: (model: string) => Llm
  readonly steps: Steps
  readonly toolDeps: ToolDeps
  /** @default what the definition and the inputs give without files */
  readonly open?: () => Promise<Material>
}

type Inputs = Readonly<Record<string, unknown>>

const now = (): string => new Date().toISOString()

/**
 * Runs the tasks of a crew in their order, each with the outputs of its context, and reports its
 * progress. Its output is that of the last task that was not skipped. Ends with `crew_completed`,
 * `failed`, `handed_over`, `approval_requested` or `run_requested`; an aborted run ends by raising
 * the signal's reason.
 */
export async function runCrew(deps: CrewRunDeps, inputs: Inputs): Promise<void> {
  const { definition, steps } = deps
  steps.report({ type: 'crew_started', at: now(), crew: definition.name })
  let toolbox: Toolbox | undefined
  try {
    const material = await (deps.open?.() ?? openMaterial({ definition, inputs }, deps.toolDeps))
    const { tools = {} } = definition
    toolbox = material.withTools(openToolbox(deps.toolDeps, tools, material.inputs))
    const taskDeps = { ...deps, inputs: material.inputs, toolbox, material }
    const outputs = await runTasks({
      tasks: definition.tasks,
      perform: (task, context: readonly TaskOutput[], before) =>
        performTask(taskDeps, task, { context, before }),
      isPause: (thrown) => steps.isHandOver(thrown) || steps.askedBy(thrown) !== undefined,
      halt: () => steps.halt(),
    })
    const output = outputs.findLast(isDone)?.output ?? ''
    steps.report({ type: 'crew_completed', at: now(), output, usage: steps.usage() })
  } catch (thrown) {
    await steps.settle()
    const asked = steps.askedBy(thrown)
    if (asked) return steps.report({ at: now(), ...asked })
    if (steps.isHandOver(thrown)) return steps.report({ type: 'handed_over', at: now() })
    if (!(thrown instanceof AppError)) throw thrown
    steps.report({ type: 'failed', at: now(), error: failureOf(thrown) })
  } finally {
    await toolbox?.close()
  }
}

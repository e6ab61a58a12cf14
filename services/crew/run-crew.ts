import * as v from 'valibot'
import { fillIn } from '../platform/crew-definition.ts'
import type { Agent, CrewDefinition, Task } from '../platform/crew-definition.ts'
import { excerpt } from '../platform/crew-protocol.ts'
import type { CrewMessage, LlmCallEvent } from '../platform/crew-protocol.ts'
import { AppError } from '../shared/errors.ts'
import type { Llm, LlmResult } from './llm.ts'
import { completion } from './llm-answer.ts'
import type { Completion } from './llm-answer.ts'
import { promptFor } from './prompts.ts'
import type { TaskOutput } from './prompts.ts'
import { failureOf, stepFailure } from './steps.ts'
import type { Steps } from './steps.ts'

interface CrewRunDeps {
  readonly definition: CrewDefinition
  readonly llmFor: (model: string) => Llm
  readonly steps: Steps
}

type Inputs = Readonly<Record<string, unknown>>

const now = (): string => new Date().toISOString()

/**
 * Runs the tasks of a crew one after the other, each with the outputs of those before it, and
 * reports its progress. Ends with `crew_completed`, `failed` or `handed_over`; an aborted run ends
 * by raising the signal's reason.
 */
export async function runCrew(deps: CrewRunDeps, inputs: Inputs): Promise<void> {
  const { definition, steps } = deps
  steps.report({ type: 'crew_started', at: now(), crew: definition.name })
  try {
    const context: TaskOutput[] = []
    for (const task of definition.tasks) {
      context.push(await performTask(deps, { task, inputs, context }))
    }
    const output = context.at(-1)?.output ?? ''
    steps.report({ type: 'crew_completed', at: now(), output, usage: steps.usage() })
  } catch (thrown) {
    await steps.settle()
    if (steps.isHandOver(thrown)) return steps.report({ type: 'handed_over', at: now() })
    if (!(thrown instanceof AppError)) throw thrown
    steps.report({ type: 'failed', at: now(), error: failureOf(thrown) })
  }
}

interface TaskCall {
  readonly task: Task
  readonly inputs: Inputs
  readonly context: readonly TaskOutput[]
}

const taskResult = v.object({ output: v.string() })

async function performTask(deps: CrewRunDeps, call: TaskCall): Promise<TaskOutput> {
  const { definition, steps } = deps
  const { task, inputs } = call
  const agent = agentOf(definition, task)
  const role = fillIn(agent.role, inputs)
  const place = { kind: 'task', path: [task.key], name: task.key, schema: taskResult } as const
  const { output } = await steps.perform(place, async ({ step }) => {
    const names = { task: task.key, agent: agent.key, step }
    const description = excerpt(fillIn(task.description, inputs))
    steps.report({ type: 'task_started', at: now(), ...names, agent_role: role, description })
    const { text } = await callModel(deps, agent, call)
    steps.report({ type: 'task_completed', at: now(), ...names, output: text })
    return { output: text }
  })
  return { task: task.key, role, output }
}

/** Returns the model's answer. Raises the failure of the call. */
function callModel({ definition, llmFor, steps }: CrewRunDeps, agent: Agent, call: TaskCall) {
  const request = {
    ...(agent.llm ?? definition.llm),
    messages: promptFor({ ...call, agent }),
  }
  const llm = llmFor(request.model)
  const path = [call.task.key, agent.key, 'llm', '0']
  const place = { kind: 'llm', path, name: request.model, schema: completion } as const
  return steps.perform(place, async ({ step, signal, use }): Promise<Completion> => {
    const started_at = now()
    const result = await llm.complete(request, signal)
    const names = { task: call.task.key, agent: agent.key, step }
    steps.report({ ...llmCall(llm, request, result), ...names, started_at, ended_at: now() })
    if (!result.ok) throw stepFailure(result.failure)
    use({ input_tokens: result.inputTokens ?? 0, output_tokens: result.outputTokens ?? 0 })
    const { ok: _ok, attempts: _attempts, ...answer } = result
    return answer
  })
}

function agentOf({ agents }: CrewDefinition, task: Task): Agent {
  const agent = agents.find(({ key }) => key === task.agent)
  if (!agent) throw new Error(`no agent ${task.agent}: the definition was not checked`)
  return agent
}

type CallFacts = Omit<LlmCallEvent, 'task' | 'agent' | 'step' | 'started_at' | 'ended_at'>

function llmCall(
  llm: Llm,
  call: { model: string; messages: readonly CrewMessage[] },
  result: LlmResult,
): CallFacts {
  const facts = {
    type: 'llm_call' as const,
    request_model: call.model,
    provider: llm.provider,
    server_address: llm.address,
    server_port: llm.port,
    messages_in: call.messages.map(({ role, content }) => ({ role, content: excerpt(content) })),
    attempts: result.attempts,
  }
  if (!result.ok) return { ...facts, messages_out: [], error: result.failure }
  return {
    ...facts,
    messages_out: [{ role: 'assistant', content: excerpt(result.text) }],
    response_model: result.model,
    response_id: result.id,
    finish_reason: result.finishReason,
    input_tokens: result.inputTokens,
    output_tokens: result.outputTokens,
  }
}

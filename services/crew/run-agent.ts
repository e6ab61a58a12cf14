import * as v from 'valibot'
import { excerpt } from '../platform/crew-contract/event-text.ts'
import type { ToolCallEvent } from '../platform/crew-contract/crew-protocol.ts'
import { callModels } from './call-model.ts'
import type { AgentPlace, ModelPlace } from './call-model.ts'
import type { Llm } from '../shared/models/llm.ts'
import type { ChatMessage, ChatTool, LlmCall, ResponseFormat } from '../shared/models/llm-call.ts'
import type { Completion } from '../shared/models/llm-answer.ts'
import type { StepRequest } from '../platform/crew-contract/step-request.ts'
import { stepFailure } from './steps.ts'
import type { ActContext, Steps } from './steps.ts'
import { readCall } from './tools/call-tool.ts'
import type { AskedCall, ReadCall } from './tools/call-tool.ts'
import { converse } from './tools/converse.ts'
import type { CrewTool, ToolAnswer } from './tools/tool.ts'
import type { Toolbox } from './tools/toolbox.ts'

const ITERATIONS_MAX = 20
/** Calls that a model may ask for in one answer; the others get an error. */
const PARALLEL_MAX = 16
const INPUT_CHARACTERS_MAX = 2000

const LAST_CALL =
  'You may call no more tools. Answer now with the output of the task, from what you have.'
const NOTHING = 'Your answer was empty. Call a tool, or answer with the output of the task.'

/** An agent at work on a task. */
interface AgentRun {
  readonly steps: Steps
  readonly place: AgentPlace
  /** The path that its steps begin with. @default the task and the agent */
  readonly path?: readonly string[]
  /** The model, and how it is called. */
  readonly call: Pick<LlmCall, 'model' | 'temperature' | 'max_tokens' | 'reasoning_effort'> & {
    readonly fallbacks?: readonly string[] | undefined
  }
  readonly llmFor: (model: string) => Llm
  /** The beginning of the conversation. */
  readonly messages: readonly ChatMessage[]
  readonly toolbox: Pick<Toolbox, 'secrets'>
  readonly tools: readonly CrewTool[]
  /** The most calls of the model for one answer. @default 20 */
  readonly maxIterations?: number | undefined
  /** The form of its answers; for calls that offer no tools. */
  readonly format?: ResponseFormat | undefined
}

/** A conversation with an agent. */
export interface AgentTalk {
  /**
   * Says something, unless it is the first answer that is asked for. Lets the agent call tools
   * until it answers, and returns the answer. The last call of the model allowed is one for which
   * it may call no tools. A call that cannot be made, and an empty answer, are told to the model
   * once; raises the failure after that.
   */
  ask(said?: string): Promise<string>
}

interface TalkState {
  readonly messages: ChatMessage[]
  /** The calls of the model so far: a part of each step's path. */
  calls: number
  /** The model that answered last. */
  model: ModelPlace
}

/** Opens a conversation with an agent about its task. */
export function openTalk(run: AgentRun): AgentTalk {
  const state = { messages: [...run.messages], calls: 0, model: { by: 0 } }
  return {
    async ask(said) {
      if (said !== undefined) state.messages.push({ role: 'user', content: said })
      const content = await runAgent(run, state)
      state.messages.push({ role: 'assistant', content })
      return content
    },
  }
}

async function runAgent(run: AgentRun, state: TalkState): Promise<string> {
  const { tools, maxIterations = ITERATIONS_MAX } = run
  const { messages } = state
  let wrong: string | undefined
  for (let iteration = 0; iteration < maxIterations; iteration += 1) {
    const isLast = tools.length > 0 && iteration === maxIterations - 1
    const call = state.calls
    state.calls += 1
    const answer = await ask(run, state, { call, isLast, isFirst: iteration === 0 })
    state.model = answer.at
    const { text, toolCalls: asked = [] } = answer
    if (asked.length === 0 && text !== '') return text
    if (isLast) throw iterationsSpent(run, answer)
    const calls = asked.map((each, index) => ({
      ...readCall(tools, each),
      asked: each,
      isExcess: index >= PARALLEL_MAX,
    }))
    const problem = problemOf(calls)
    if (wrong !== undefined && problem !== undefined) throw repairFailed(run, wrong, problem)
    wrong = problem
    messages.push(...(await react(run, { answer, calls, iteration: call })))
  }
  throw new Error('an agent has at least one iteration')
}

function ask(
  run: AgentRun,
  { messages, model: from }: Readonly<TalkState>,
  { call, isLast, isFirst }: { call: number; isLast: boolean; isFirst: boolean },
): Promise<Awaited<ReturnType<typeof callModels>>> {
  const { steps, place, tools, format, llmFor } = run
  const { model, fallbacks = [], ...how } = run.call
  const plain = format ? { response_format: format } : {}
  const offered =
    tools.length === 0
      ? plain
      : { tools: tools.map(toChatTool), ...(isLast ? { tool_choice: 'none' as const } : {}) }
  const notes = isLast && !isFirst ? [{ role: 'user', content: LAST_CALL }] : []
  const request = { ...how, messages: [...messages, ...notes], ...offered }
  const path = [...pathOf(run), 'llm', String(call)]
  return callModels({ steps, llmFor, place, request, path, models: [model, ...fallbacks], from })
}

const pathOf = ({ path, place }: AgentRun): readonly string[] => path ?? [place.task, place.agent]

const toChatTool = ({ name, description, parameters }: CrewTool): ChatTool => ({
  type: 'function',
  function: { name, description, parameters },
})

const toMessage = ({ text, toolCalls = [], items }: Completion): ChatMessage => ({
  role: 'assistant',
  ...(items ? { items } : {}),
  content: text === '' ? null : text,
  tool_calls: toolCalls.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  })),
})

type OneCall = ReadCall & { readonly asked: AskedCall; readonly isExcess: boolean }

/** What the model has to repair. */
function problemOf(calls: readonly OneCall[]): string | undefined {
  if (calls.length === 0) return 'The answer was empty.'
  return calls.flatMap((each) => ('problem' in each ? each.problem : []))[0]
}

interface Turn {
  readonly answer: Completion
  readonly calls: readonly OneCall[]
  readonly iteration: number
}

/** Makes the calls of an answer, and returns the messages that follow. */
async function react(run: AgentRun, { answer, calls, iteration }: Turn): Promise<ChatMessage[]> {
  if (calls.length === 0) return [{ role: 'user', content: NOTHING }]
  const results = calls.map((each, index) => perform(run, each, `${iteration}.${index}`))
  return [toMessage(answer), ...(await Promise.all(results))]
}

const toolAnswer = v.object({ text: v.string(), isError: v.boolean() })

/** Makes one call as a step of its own, and returns its message for the model. */
async function perform(run: AgentRun, wanted: OneCall, index: string): Promise<ChatMessage> {
  const { steps } = run
  const name = wanted.asked.name.slice(0, 64)
  const path = [...pathOf(run), name, index]
  const { note, ...call } = await approved(run, wanted, path)
  const { asked } = call
  const { text } = await steps.perform(
    {
      kind: 'tool',
      path,
      name,
      input: excerpt(asked.arguments, INPUT_CHARACTERS_MAX),
      request: requestOf(call),
      schema: toolAnswer,
    },
    async (context): Promise<ToolAnswer> => {
      const started_at = new Date().toISOString()
      const answered = await answerTo(run, call, { ...context, path })
      const { step, parent } = context
      report(run, call, { ...answered, started_at, step, parent })
      return answered
    },
  )
  return { role: 'tool', tool_call_id: asked.id, content: note + text }
}

/** Lets a person decide about a call, if its tool says so; a note says what the person changed. */
async function approved(
  { steps, place }: AgentRun,
  call: OneCall,
  path: readonly string[],
): Promise<OneCall & { readonly note: string }> {
  const { asked, isExcess } = call
  if (isExcess || 'problem' in call) return { ...call, note: '' }
  const { tool, arguments: given } = call
  const decided = await tool.approve?.(steps, { tool, arguments: given, task: place.task, path })
  if (!decided) return { ...call, note: '' }
  if ('problem' in decided) return { tool, problem: decided.problem, asked, isExcess, note: '' }
  const [before, sent] = [given, decided.arguments].map((each) => JSON.stringify(each))
  if (sent === undefined || sent === before) return { ...call, note: '' }
  const note = `A person changed the arguments of this call to ${sent}.\n\n`
  return {
    tool,
    arguments: decided.arguments,
    asked: { ...asked, arguments: sent },
    isExcess,
    note,
  }
}

/** Nothing is asked by a wrong call, nor of a tool that does its work by steps of its own. */
const requestOf = (call: OneCall): StepRequest | undefined =>
  call.isExcess || 'problem' in call || call.tool.hasSteps === true
    ? undefined
    : { tool: call.tool.name, arguments: call.arguments }

async function answerTo(
  { toolbox, steps, place }: AgentRun,
  call: OneCall,
  { idempotencyKey, signal, path, step }: ActContext & { readonly path: readonly string[] },
): Promise<ToolAnswer> {
  if (call.isExcess) {
    const text = `This call was not made: at most ${PARALLEL_MAX} are at a time. Ask again for it.`
    return { text, isError: true }
  }
  if ('problem' in call) {
    return { text: `${call.problem} Correct the call, or continue without it.`, isError: true }
  }
  const { automation } = call.tool
  if (automation !== undefined) {
    return steps.park({ type: 'run_requested', step, automation, inputs: call.arguments })
  }
  const one = { arguments: call.arguments, idempotencyKey, signal, path }
  const { secrets } = toolbox
  return converse(steps, { tool: call.tool, call: one, task: place.task, secrets })
}

function report(
  { steps, place }: AgentRun,
  { asked, tool }: OneCall,
  { text, isError, ...facts }: ToolAnswer & Pick<ToolCallEvent, 'started_at' | 'step' | 'parent'>,
): void {
  steps.report({
    type: 'tool_call',
    ...place,
    ...facts,
    name: asked.name.slice(0, 64),
    ...(tool ? { tool: tool.key, tool_type: tool.type } : {}),
    call_id: asked.id,
    arguments: excerpt(asked.arguments),
    ...(isError ? { error: { code: 'tool_error', message: text } } : { result: text }),
    ended_at: new Date().toISOString(),
  })
}

function iterationsSpent({ place, maxIterations = ITERATIONS_MAX }: AgentRun, answer: Completion) {
  const last = answer.toolCalls?.[0]?.name.slice(0, 64)
  const did = last === undefined ? 'answered nothing' : `asked for the tool ${last}`
  return stepFailure({
    code: 'max_iterations',
    message:
      `The agent ${place.agent} called its model ${maxIterations} times for the task ` +
      `${place.task} without an answer; at the last call, which allowed no tools, it ${did}. ` +
      'Raise max_iterations of the agent, make the task smaller, or use another model.',
  })
}

function repairFailed({ place, call }: AgentRun, first: string, second: string) {
  return stepFailure({
    code: 'invalid_tool_call',
    message:
      `The model ${call.model} of the agent ${place.agent} made a mistake in the task ` +
      `${place.task}, was told, and made one again. First: ${first} Then: ${second} ` +
      'Use a model that calls tools better, or describe the tools in the task.',
  })
}

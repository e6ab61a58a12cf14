import { createHash } from 'node:crypto'
import { excerpt } from '../platform/crew-contract/event-text.ts'
import type {
  CrewFailure,
  CrewMessage,
  LlmCallEvent,
} from '../platform/crew-contract/crew-protocol.ts'
import { messageText } from '../shared/models/llm-call.ts'
import type { Llm, LlmResult } from '../shared/models/llm.ts'
import type { ChatMessage, ContentPart, LlmCall } from '../shared/models/llm-call.ts'
import { completion } from '../shared/models/llm-answer.ts'
import type { Completion } from '../shared/models/llm-answer.ts'
import type { StepRequest } from '../platform/crew-contract/step-request.ts'
import { failureOf, stepFailure } from './steps.ts'
import type { Steps } from './steps.ts'
import { estimateCall } from '../platform/budgets/assumed-tokens.ts'

/** The most characters that an event keeps of a conversation; the model gets all of it. */
const CONVERSATION_CHARACTERS_MAX = 262_144

/** The task and the agent that something is done for, by their keys. */
export interface AgentPlace {
  readonly task: string
  readonly agent: string
}

/** Why a model was not asked, or did not answer, so that another one is. */
type InsteadOf = LlmCallEvent['instead_of']

/** A model among those that an agent may ask. */
export interface ModelPlace {
  /** 0: the first one. */
  readonly by: number
  readonly insteadOf?: InsteadOf
}

/** A call of the first of some models that answers. */
interface ModelCalls {
  readonly steps: Steps
  readonly llmFor: (model: string) => Llm
  readonly place: AgentPlace
  readonly request: Omit<LlmCall, 'model'>
  /** In the order in which they are asked. */
  readonly models: readonly [string, ...string[]]
  /** Those before the one that answered last in this conversation are not asked again. */
  readonly from: ModelPlace
  /** The path of the step. */
  readonly path: readonly string[]
}

/** A refusal for which another model may answer: retired, overloaded or down. */
const PASSED_ON = /^The model at \S+ refused the call with HTTP (?:404|429|5\d\d)\b/

/** Returns true for the failure of a model which another one need not have. */
const isPassedOn = ({ code, message }: CrewFailure): boolean =>
  code === 'llm_unreachable' ||
  code === 'llm_timeout' ||
  (code === 'llm_rejected' && PASSED_ON.test(message))

/**
 * Returns an answer, and the place of the model that gave it. Each call is a step of its own: what
 * it costs, why it failed and what a replay finds in its record are those of its model. Raises the
 * failure of the last call.
 */
export async function callModels(
  calls: ModelCalls,
): Promise<Completion & { readonly at: ModelPlace }> {
  const { models, from, steps, path, request } = calls
  const pathAt = (by: number) => (by === 0 ? path : [...path, 'fallback', String(by)])
  // What a former attempt was told is not asked of a model before, which may answer meanwhile.
  const known = models.findIndex((_, by) => by >= from.by && steps.isRecorded(pathAt(by)))
  let { insteadOf } = from
  for (let by = Math.max(from.by, known); ; by += 1) {
    const model = models[by] ?? models[0]
    const one = { ...calls, llm: calls.llmFor(model), path: pathAt(by), insteadOf }
    // What one provider sealed, another one cannot open.
    const messages = by === 0 ? request.messages : request.messages.map(unsealed)
    try {
      const answer = await callModel({ ...one, request: { ...request, model, messages } })
      return { ...(by === 0 ? answer : unsealed(answer)), at: { by, insteadOf } }
    } catch (thrown) {
      const error = failureOf(thrown)
      if (by >= models.length - 1 || !isPassedOn(error)) throw thrown
      insteadOf = { model, error }
    }
  }
}

const unsealed = <Said extends Pick<Completion, 'items'>>({ items: _items, ...said }: Said) => said

/** One call of a model, as a step of its own. */
interface ModelCall extends Pick<ModelCalls, 'steps' | 'place' | 'path'> {
  readonly llm: Llm
  readonly request: LlmCall
  readonly insteadOf: InsteadOf
}

/** Returns the model's answer. Raises the failure of the call. */
function callModel({ steps, llm, place, request, path, insteadOf }: ModelCall) {
  const input = insteadOf && { instead_of: insteadOf }
  const facts = { kind: 'llm', path, name: request.model, schema: completion, input } as const
  const step = { ...facts, request: toRequest(request), estimate: estimateCall(request) }
  return steps.perform(step, async ({ step: key, parent, signal, use }): Promise<Completion> => {
    const started_at = now()
    const text = steps.reportText({ ...place, step: key })
    const result = await llm.complete(request, signal, text?.hear).finally(() => text?.end())
    const times = { started_at, ended_at: now() }
    const told = { ...describeCall(llm, request, result), ...place, step: key, parent, ...times }
    steps.report(insteadOf ? { ...told, instead_of: insteadOf } : told)
    if (!result.ok) throw stepFailure(result.failure)
    use({
      input_tokens: result.inputTokens ?? 0,
      output_tokens: result.outputTokens ?? 0,
      cached_input_tokens: result.cachedInputTokens,
      service_tier: billedTier(result.serviceTier),
    })
    const { ok: _ok, attempts: _attempts, refusedTier: _tier, ...answer } = result
    return answer
  })
}

/** The usual tier, which most answers name, has the price of the model itself. */
const billedTier = (tier: string | undefined): string | undefined =>
  tier === 'default' || tier === 'standard' ? undefined : tier

/** A call as it is kept: an image is among the files of the run, and stands for itself here. */
function toRequest({ model, messages, tools, ...parameters }: LlmCall): StepRequest {
  return { model, messages: messages.map(withoutImages), tools, parameters }
}

function withoutImages({ content, ...message }: ChatMessage): object {
  if (!Array.isArray(content)) return { ...message, content }
  const parts = (content as readonly ContentPart[]).map((part) =>
    part.type === 'text' ? part : { type: part.type, sha256: digest(part.image_url.url) },
  )
  return { ...message, content: parts }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

const now = (): string => new Date().toISOString()

type CallFacts = Omit<
  LlmCallEvent,
  'task' | 'agent' | 'step' | 'parent' | 'started_at' | 'ended_at'
>

function describeCall(llm: Llm, call: LlmCall, result: LlmResult): CallFacts {
  const facts = {
    type: 'llm_call' as const,
    request_model: call.model,
    provider: llm.provider,
    server_address: llm.address,
    server_port: llm.port,
    messages_in: excerptConversation(call.messages.map(toEventMessage)),
    attempts: result.attempts,
    refused_tier: result.refusedTier,
  }
  if (!result.ok) return { ...facts, messages_out: [], error: result.failure }
  const said = { role: 'assistant', content: excerpt(result.text) }
  return {
    ...facts,
    messages_out: [result.toolCalls ? { ...said, tool_calls: result.toolCalls } : said],
    response_model: result.model,
    response_id: result.id,
    service_tier: result.serviceTier,
    finish_reason: result.finishReason,
    input_tokens: result.inputTokens,
    output_tokens: result.outputTokens,
    cached_input_tokens: result.cachedInputTokens,
    reasoning_output_tokens: result.reasoningTokens,
  }
}

function toEventMessage({ role, content, tool_calls, tool_call_id }: ChatMessage): CrewMessage {
  const said = { role, content: excerpt(messageText(content)) }
  if (tool_call_id !== undefined) return { ...said, tool_call_id }
  if (!tool_calls) return said
  const asked = tool_calls.map(({ id, function: { name, arguments: given } }) => ({
    id,
    name,
    arguments: excerpt(given),
  }))
  return { ...said, tool_calls: asked }
}

/** Leaves out the middle of a long conversation: events before this one have it. */
function excerptConversation(messages: readonly CrewMessage[]): CrewMessage[] {
  let left = CONVERSATION_CHARACTERS_MAX
  const newestFirst = messages.toReversed().map((message, index) => {
    const isBeginning = index >= messages.length - 2
    left -= JSON.stringify(message).length
    if (left >= 0 || isBeginning) return message
    const { role, content, tool_call_id } = message
    const note = `(${content.length} characters were left out here)`
    return { role, content: note, ...(tool_call_id === undefined ? {} : { tool_call_id }) }
  })
  return newestFirst.toReversed()
}

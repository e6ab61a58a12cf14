import * as v from 'valibot'
import { limitFor } from '../refusals.ts'
import {
  count,
  describeNothing,
  known,
  parseJson,
  serviceTier,
  toolArguments,
} from '../llm-answer.ts'
import type { Completion } from '../llm-answer.ts'
import type { LlmCall } from '../llm-call.ts'
import { openChatStream } from './chat-stream.ts'
import type { RequestOptions, WireForm } from './wire-form.ts'

const STREAMED = { stream: true, stream_options: { include_usage: true } }

/** Some write no ids. */
const toolCall = v.object({
  id: known(v.string()),
  function: v.object({ name: v.string(), arguments: toolArguments }),
})

const completionBody = v.object({
  id: known(v.string()),
  model: known(v.string()),
  service_tier: serviceTier,
  choices: v.pipe(
    v.array(
      v.object({
        message: v.object({
          content: known(v.string()),
          refusal: known(v.string()),
          tool_calls: known(v.array(toolCall)),
        }),
        finish_reason: known(v.string()),
      }),
    ),
    v.minLength(1, 'must hold a choice'),
  ),
  usage: known(
    v.object({
      prompt_tokens: known(count),
      completion_tokens: known(count),
      prompt_tokens_details: known(v.object({ cached_tokens: known(count) })),
      completion_tokens_details: known(v.object({ reasoning_tokens: known(count) })),
    }),
  ),
})

/** OpenAI's `chat/completions`, which most endpoints know. */
export const chatCompletions: WireForm = {
  path: '/chat/completions',
  toBody: toChatRequest,
  read: readChatCompletion,
  openStream: openChatStream,
}

function toChatRequest(
  { max_tokens, reasoning_effort, messages, ...call }: LlmCall,
  { host, isStreamed, areToolsUnreasoned, tier }: RequestOptions,
) {
  const effort = reasoning_effort ?? (call.tools && areToolsUnreasoned ? 'none' : undefined)
  return {
    ...call,
    messages: messages.map(({ items: _items, ...message }) => message),
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...(max_tokens === undefined ? {} : { [limitFor(host)]: max_tokens }),
    ...(tier === undefined ? {} : { service_tier: tier }),
    ...(isStreamed ? STREAMED : {}),
  }
}

function readChatCompletion(body: string, hasTools: boolean): Completion | string {
  const json = parseJson(body)
  if (json === undefined) return 'something that is not JSON'
  const result = v.safeParse(completionBody, json)
  if (!result.success) {
    const [issue] = result.issues
    return `JSON that is no chat completion (${v.getDotPath(issue) ?? 'body'}: ${issue.message})`
  }
  const { id, model, choices, usage, service_tier: tier } = result.output
  const { text, refusal, toolCalls, finishReason } = readChoice(choices[0])
  if (text === '' && !hasTools) return describeNothing(finishReason, refusal)
  const asked = hasTools && toolCalls.length > 0 ? { toolCalls } : {}
  return { text, ...asked, finishReason, id, model, serviceTier: tier, ...tokensOf(usage) }
}

function tokensOf(usage: v.InferOutput<typeof completionBody>['usage']) {
  return {
    inputTokens: usage?.prompt_tokens,
    outputTokens: usage?.completion_tokens,
    cachedInputTokens: usage?.prompt_tokens_details?.cached_tokens,
    reasoningTokens: usage?.completion_tokens_details?.reasoning_tokens,
  }
}

type Choice = v.InferOutput<typeof completionBody>['choices'][number]

function readChoice(choice: Choice | undefined) {
  const { content: text = '', refusal, tool_calls: calls = [] } = choice?.message ?? {}
  const toolCalls = calls.map(({ id, function: { name, arguments: given } }, index) => ({
    id: id ?? `call_${index}`,
    name,
    arguments: given,
  }))
  return { text, refusal, toolCalls, finishReason: choice?.finish_reason }
}

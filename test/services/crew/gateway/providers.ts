import { messageOf, responseOf } from '../fake-model.ts'
import { toAmazonEvent } from './event-stream.ts'

/** What the models do with the question of the test: they call a tool, and then they answer. */
export const TOOL = 'sum'
export const ANSWER = 'It is 42.'
const GIVEN = { expression: '6 * 7' }

/** A turn of a model: the call of the tool, or the answer to its result. */
type Turn = 'call' | 'answer'

type Fields = Readonly<Record<string, unknown>>

/** The own form of a provider, as its reference has it. */
export interface Provider {
  /** What LiteLLM is told of it, beside the address and the key. */
  readonly settings: Readonly<Record<string, string>>
  /** Where an answer as a whole is asked for, and where a streamed one. */
  readonly paths: Readonly<Record<'whole' | 'streamed', string>>
  /** The path at which it answers 400, and what it says there. */
  readonly refusal?: { readonly path: string; readonly message: string }
  /** Whether this is the part of a request that has the result of the tool. */
  readonly isResult: (part: Fields) => boolean
  readonly whole: (turn: Turn) => unknown
  readonly streamed: (turn: Turn) => readonly (string | Buffer)[]
}

const sse = (data: Fields): string => {
  const event = typeof data['type'] === 'string' ? `event: ${data['type']}\n` : ''
  return `${event}data: ${JSON.stringify(data)}\n\n`
}

function azureOpenAi(): Provider {
  const called = { name: TOOL, arguments: JSON.stringify(GIVEN) }
  const says = (turn: Turn) => ({
    role: 'assistant',
    ...(turn === 'answer'
      ? { content: ANSWER }
      : {
          content: null,
          tool_calls: [{ index: 0, id: 'c1', type: 'function', function: called }],
        }),
  })
  const reasonOf = (turn: Turn) => (turn === 'call' ? 'tool_calls' : 'stop')
  const usage = { prompt_tokens: 50, completion_tokens: 9, total_tokens: 59 }
  const facts = { id: 'chatcmpl-1', created: 1, model: 'gpt-4o' }
  const chunk = { ...facts, object: 'chat.completion.chunk' }
  const path = '/openai/deployments/gpt-4o/chat/completions'
  return {
    settings: { model: 'azure/gpt-4o', api_version: '2024-10-21' },
    paths: { whole: path, streamed: path },
    isResult: ({ role }) => role === 'tool',
    whole: (turn) => ({
      ...facts,
      object: 'chat.completion',
      choices: [{ index: 0, message: says(turn), finish_reason: reasonOf(turn) }],
      usage,
    }),
    streamed: (turn) => [
      sse({ ...chunk, choices: [{ index: 0, delta: says(turn), finish_reason: null }] }),
      sse({ ...chunk, choices: [{ index: 0, delta: {}, finish_reason: reasonOf(turn) }] }),
      sse({ ...chunk, choices: [], usage }),
      'data: [DONE]\n\n',
    ],
  }
}

function anthropic(): Provider {
  const reasonOf = (turn: Turn) => (turn === 'call' ? 'tool_use' : 'end_turn')
  const usage = { input_tokens: 50, output_tokens: 9 }
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    stop_sequence: null,
  }
  const call = { type: 'tool_use', id: 'toolu_1', name: TOOL }
  return {
    settings: { model: 'anthropic/claude-sonnet-4-5' },
    paths: { whole: '/v1/messages', streamed: '/v1/messages' },
    isResult: ({ type }) => type === 'tool_result',
    whole: (turn) => ({
      ...message,
      content: [turn === 'call' ? { ...call, input: GIVEN } : { type: 'text', text: ANSWER }],
      stop_reason: reasonOf(turn),
      usage,
    }),
    streamed: (turn) => {
      const begun = turn === 'call' ? { ...call, input: {} } : { type: 'text', text: '' }
      const delta =
        turn === 'call'
          ? { type: 'input_json_delta', partial_json: JSON.stringify(GIVEN) }
          : { type: 'text_delta', text: ANSWER }
      const stop = { stop_reason: reasonOf(turn), stop_sequence: null }
      return [
        sse({ type: 'message_start', message: { ...message, content: [], usage } }),
        sse({ type: 'content_block_start', index: 0, content_block: begun }),
        sse({ type: 'content_block_delta', index: 0, delta }),
        sse({ type: 'content_block_stop', index: 0 }),
        sse({ type: 'message_delta', delta: stop, usage }),
        sse({ type: 'message_stop' }),
      ]
    },
  }
}

function bedrock(): Provider {
  const reasonOf = (turn: Turn) => (turn === 'call' ? 'tool_use' : 'end_turn')
  const usage = { inputTokens: 50, outputTokens: 9, totalTokens: 59 }
  const call = { toolUseId: 'tooluse_1', name: TOOL }
  const model = 'anthropic.claude-3-5-sonnet-20240620-v1:0'
  const path = `/model/${encodeURIComponent(model)}`
  return {
    settings: { model: `bedrock/converse/${model}`, aws_region_name: 'us-east-1' },
    paths: { whole: `${path}/converse`, streamed: `${path}/converse-stream` },
    isResult: (part) => 'toolResult' in part,
    whole: (turn) => ({
      output: {
        message: {
          role: 'assistant',
          content: [turn === 'call' ? { toolUse: { ...call, input: GIVEN } } : { text: ANSWER }],
        },
      },
      stopReason: reasonOf(turn),
      usage,
      metrics: { latencyMs: 1 },
    }),
    streamed: (turn) => [
      toAmazonEvent('messageStart', { role: 'assistant' }),
      ...(turn === 'call'
        ? [
            toAmazonEvent('contentBlockStart', { contentBlockIndex: 0, start: { toolUse: call } }),
            toAmazonEvent('contentBlockDelta', {
              contentBlockIndex: 0,
              delta: { toolUse: { input: JSON.stringify(GIVEN) } },
            }),
          ]
        : [toAmazonEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: ANSWER } })]),
      toAmazonEvent('contentBlockStop', { contentBlockIndex: 0 }),
      toAmazonEvent('messageStop', { stopReason: reasonOf(turn) }),
      toAmazonEvent('metadata', { usage, metrics: { latencyMs: 1 } }),
    ],
  }
}

function gemini(): Provider {
  const path = '/models/gemini-2.5-flash'
  const whole = (turn: Turn) => ({
    candidates: [
      {
        content: {
          role: 'model',
          parts: [
            turn === 'call' ? { functionCall: { name: TOOL, args: GIVEN } } : { text: ANSWER },
          ],
        },
        finishReason: 'STOP',
        index: 0,
      },
    ],
    usageMetadata: { promptTokenCount: 50, candidatesTokenCount: 9, totalTokenCount: 59 },
    modelVersion: 'gemini-2.5-flash',
  })
  return {
    settings: { model: 'gemini/gemini-2.5-flash' },
    paths: { whole: `${path}:generateContent`, streamed: `${path}:streamGenerateContent` },
    isResult: (part) => 'function_response' in part || 'functionResponse' in part,
    whole,
    streamed: (turn) => [sse(whole(turn))],
  }
}

/** What a model reasoned before it called the tool, which has to come back. */
export const SEALED = 'gAAAAABsealed'

/** A model that takes tools at `responses` only. */
function openAi(): Provider {
  const path = '/responses'
  const usage = {
    input_tokens: 50,
    input_tokens_details: { cached_tokens: 20, cache_write_tokens: 0 },
    output_tokens: 9,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 59,
  }
  const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: SEALED }
  const called = {
    id: 'fc_1',
    type: 'function_call',
    status: 'completed',
    call_id: 'call_1',
    name: TOOL,
    arguments: JSON.stringify(GIVEN),
  }
  const outputOf = (turn: Turn) => (turn === 'call' ? [reasoning, called] : [messageOf(ANSWER)])
  const whole = (turn: Turn) => responseOf(outputOf(turn), { model: 'gpt-5.6', usage })
  const begun = responseOf([], { model: 'gpt-5.6', status: 'in_progress', usage: null })
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  return {
    settings: { model: 'openai/gpt-5.6' },
    paths: { whole: path, streamed: path },
    refusal: {
      path: '/chat/completions',
      message:
        'Function tools with reasoning_effort are not supported for gpt-5.6 in ' +
        '/v1/chat/completions. To use function tools, use /v1/responses or set ' +
        "reasoning_effort to 'none'.",
    },
    isResult: ({ type }) => type === 'function_call_output',
    whole,
    streamed: (turn) => [
      sse({ type: 'response.created', sequence_number: 0, response: begun }),
      ...(turn === 'call'
        ? []
        : [sse({ type: 'response.output_text.delta', ...place, delta: ANSWER, logprobs: [] })]),
      ...outputOf(turn).map((item, output_index) =>
        sse({ type: 'response.output_item.done', output_index, item }),
      ),
      sse({ type: 'response.completed', response: whole(turn) }),
    ],
  }
}

/** The providers that have no OpenAI-compatible address, or one that does less. */
export const PROVIDERS: Readonly<Record<string, Provider>> = {
  anthropic: anthropic(),
  azure: azureOpenAi(),
  bedrock: bedrock(),
  gemini: gemini(),
  openai: openAi(),
}

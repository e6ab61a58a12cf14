import type { ChatMessage, ChatTool, LlmCall } from '../llm-call.ts'
import { messageText } from '../llm-call.ts'
import { readResponse } from './responses-answer.ts'
import { openResponseStream } from './responses-stream.ts'
import type { RequestOptions, WireForm } from './wire-form.ts'

/**
 * OpenAI's `responses`, without anything being kept there: what a model reasoned before it called
 * tools is sealed, and goes back to it with their results.
 */
export const responses: WireForm = {
  path: '/responses',
  toBody: toRequest,
  read: readResponse,
  openStream: openResponseStream,
}

function toRequest(call: LlmCall, { isStreamed, isUnsealed }: RequestOptions) {
  const { model, temperature, max_tokens, reasoning_effort, tools, tool_choice } = call
  return {
    model,
    input: call.messages.flatMap((message) => toItems(message, isUnsealed)),
    store: false,
    ...(isUnsealed ? {} : { include: ['reasoning.encrypted_content'] }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(max_tokens === undefined ? {} : { max_output_tokens: max_tokens }),
    ...(reasoning_effort === undefined ? {} : { reasoning: { effort: reasoning_effort } }),
    ...(tools ? { tools: tools.map(toTool) } : {}),
    ...(tool_choice === undefined ? {} : { tool_choice }),
    ...(call.response_format
      ? {
          text: {
            format: { type: call.response_format.type, ...call.response_format.json_schema },
          },
        }
      : {}),
    ...(isStreamed ? { stream: true } : {}),
  }
}

function toItems(message: ChatMessage, isUnsealed: boolean): readonly object[] {
  const { role, content, tool_calls: calls = [], tool_call_id: answered, items } = message
  if (answered !== undefined) {
    return [{ type: 'function_call_output', call_id: answered, output: messageText(content) }]
  }
  if (items && !isUnsealed) return items
  const asked = calls.map(({ id, function: { name, arguments: given } }) => ({
    type: 'function_call',
    call_id: id,
    name,
    arguments: given,
  }))
  return content === null ? asked : [{ role, content: toContent(content) }, ...asked]
}

function toContent(content: NonNullable<ChatMessage['content']>) {
  if (typeof content === 'string') return content
  return content.map((part) =>
    part.type === 'text'
      ? { type: 'input_text', text: part.text }
      : { type: 'input_image', image_url: part.image_url.url, detail: 'auto' },
  )
}

/** Here, a schema is strict unless it says otherwise. */
const toTool = ({ function: { name, description, parameters } }: ChatTool) => ({
  type: 'function',
  name,
  description,
  parameters,
  strict: false,
})

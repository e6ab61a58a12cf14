import * as v from 'valibot'
import type { ChatMessage, ChatTool, LlmCall } from '../llm-call.ts'
import { messageText } from '../llm-call.ts'
import { parseJson } from '../llm-answer.ts'
import { readResponse } from './responses-answer.ts'
import type { RequestOptions, WireForm, HearText, StreamedAnswer } from './wire-form.ts'

const response = v.looseObject({ output: v.optional(v.array(v.unknown()), []) })

const streamEvent = v.looseObject({
  type: v.string(),
  delta: v.optional(v.unknown()),
  item: v.optional(v.unknown()),
  response: v.nullish(response),
})
type StreamEvent = v.InferOutput<typeof streamEvent>

const ENDS: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
])

/** Puts the events of `responses` together: the last one has the answer as a whole. */
function openResponseStream(hearText: HearText): StreamedAnswer {
  const items: unknown[] = []
  let heard = 0
  let end: StreamEvent | undefined
  let error: StreamEvent | undefined
  /** The first event that is no part of an answer. */
  let foreign: string | undefined
  function take(event: StreamEvent): void {
    const { type, delta, item } = event
    if (type === 'response.output_text.delta' && typeof delta === 'string' && delta !== '') {
      hearText(delta, heard)
      heard += delta.length
    }
    if (type === 'response.output_item.done') items.push(item)
    if (type === 'error') error ??= event
    if (ENDS.has(type)) end = event
  }
  return {
    add(data) {
      if (data.trim() === '[DONE]') return
      const read = v.safeParse(streamEvent, parseJson(data))
      if (read.success) take(read.output)
      else foreign ??= data
    },
    whole() {
      if (foreign !== undefined) return { body: foreign }
      if (error) return { status: 502, body: JSON.stringify({ error: error['error'] ?? error }) }
      if (!end?.response) throw new Error('its answer broke off')
      const { output, ...facts } = end.response
      // Some send the items only as they are done.
      return { body: JSON.stringify({ ...facts, output: output.length > 0 ? output : items }) }
    },
  }
}

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

function toRequest(call: LlmCall, { isStreamed, isUnsealed, tier }: RequestOptions) {
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
    ...(tier === undefined ? {} : { service_tier: tier }),
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

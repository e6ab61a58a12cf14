import * as v from 'valibot'
import { closedObject } from '../../shared/describe-issue.ts'
import { AppError } from '../../shared/errors.ts'
import { messageText, REASONING_EFFORTS } from '../../shared/models/llm-call.ts'
import type { ChatMessage, LlmCall } from '../../shared/models/llm-call.ts'
import { oneOf } from '../../shared/schemas.ts'

/** The longest request that is sent again, in bytes of JSON. */
export const REQUEST_BYTES_MAX = 524_288

const text = v.string('must be a text')
const object = v.record(v.string(), v.unknown(), 'must be an object')
const toolCall = v.object({
  id: text,
  type: v.literal('function'),
  function: v.object({ name: text, arguments: text }),
})
const tool = v.object({
  type: v.literal('function', 'must be function'),
  function: v.object({ name: text, description: v.optional(text, ''), parameters: object }),
})
const content = v.nullish(text, null)
const said = {
  role: v.picklist(['system', 'developer', 'user', 'assistant', 'tool'], 'must be a known role'),
  tool_calls: v.optional(v.array(toolCall)),
  tool_call_id: v.optional(text),
}
const parameters = {
  temperature: v.number('must be a number'),
  max_tokens: v.pipe(v.number('must be a number'), v.integer('must be a whole number')),
  reasoning_effort: oneOf(REASONING_EFFORTS),
}
const model = v.pipe(text, v.minLength(1, 'must not be empty'), v.maxLength(300, 'is too long'))

/** What of a call is sent otherwise: what lacks is as it was recorded, and null takes it away. */
export const callChange = closedObject({
  model: v.optional(model),
  messages: v.optional(
    v.pipe(
      v.array(closedObject({ ...said, content }), 'must be a list'),
      v.minLength(1, 'must not be empty'),
      v.maxLength(1000, 'must have at most 1000 messages'),
    ),
  ),
  tools: v.optional(v.array(tool, 'must be a list')),
  temperature: v.nullish(
    v.pipe(
      parameters.temperature,
      v.minValue(0, 'must be at least 0'),
      v.maxValue(2, 'must be at most 2'),
    ),
  ),
  max_tokens: v.nullish(v.pipe(parameters.max_tokens, v.minValue(1, 'must be at least 1'))),
  reasoning_effort: v.nullish(parameters.reasoning_effort),
})
/** What of a call is sent otherwise. */
export type CallChange = Omit<v.InferOutput<typeof callChange>, 'messages'> & {
  readonly messages?: readonly ChatMessage[] | undefined
}

const part = v.union([v.object({ type: v.literal('text'), text }), v.object({ type: v.string() })])
const options = {
  temperature: v.optional(parameters.temperature),
  max_tokens: v.optional(parameters.max_tokens),
  reasoning_effort: v.optional(parameters.reasoning_effort),
}
/** Crews of other programs have the options beside the messages. */
const recorded = v.object({
  ...options,
  model,
  messages: v.array(
    v.object({
      ...said,
      content: v.union([content, v.array(part)]),
      items: v.optional(v.array(object)),
    }),
  ),
  tools: v.optional(v.array(tool)),
  parameters: v.optional(
    v.object({
      ...options,
      tool_choice: v.optional(v.picklist(['auto', 'none'])),
      response_format: v.optional(
        v.object({
          type: v.literal('json_schema'),
          json_schema: v.object({ name: text, schema: object, strict: v.boolean() }),
        }),
      ),
    }),
  ),
})

/** A recorded call as it can be made again; images are not in the record. */
export interface ReadCall {
  readonly call: LlmCall
  readonly images: number
}

/** Reads a request of a record; undefined for what no model is asked in this form. */
export function readCall(request: unknown): ReadCall | undefined {
  const read = v.safeParse(recorded, request)
  if (!read.success) return undefined
  const { messages, tools = [], parameters = {}, ...rest } = read.output
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
  const call = {
    ...rest,
    ...parameters,
    messages: messages.map((each): ChatMessage => ({ ...each, content: plain(each.content) })),
    ...(tools.length > 0 ? { tools } : {}),
  }
  return { call, images: parts.filter(({ type }) => type !== 'text').length }
}

const plain = (given: v.InferOutput<typeof recorded>['messages'][number]['content']) =>
  Array.isArray(given) ? messageText(given.flatMap((each) => ('text' in each ? each : []))) : given

/**
 * Returns a recorded call with what is changed of it. Raises `payload_too_large` for one that is
 * longer than what is sent again.
 */
export function changeCall(call: LlmCall, change: CallChange): LlmCall {
  const { tools = call.tools ?? [], model: other = call.model, messages, ...given } = change
  const { tools: _tools, tool_choice, ...plainCall } = call
  const changed = {
    ...plainCall,
    ...Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value ?? undefined])),
    model: other,
    messages: (messages ?? call.messages).map((each) => sealedFor(each, other === call.model)),
    ...(tools.length > 0 ? { tools, ...(tool_choice ? { tool_choice } : {}) } : {}),
  }
  const bytes = Buffer.byteLength(JSON.stringify(changed))
  if (bytes <= REQUEST_BYTES_MAX) return changed
  throw new AppError(
    'payload_too_large',
    `The request has ${bytes} bytes, and ${REQUEST_BYTES_MAX} is the most. Shorten its messages.`,
  )
}

/** Only the model that reasoned can read what it sealed. */
function sealedFor({ items, ...message }: ChatMessage, isSame: boolean): ChatMessage {
  return items && isSame ? { ...message, items } : message
}

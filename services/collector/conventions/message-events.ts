import { isObject, memberOf, unpack } from './json.ts'
import type { JsonObject } from './json.ts'
import { systemMessages, toMessages, toMessagesOrText } from './message-documents.ts'
import { MESSAGE_EVENTS } from './message-keys.ts'
import { MAX_MESSAGES } from './message.ts'
import type { Message } from '../../shared/trace-answers/one-trace.ts'

/** Something with a name and attributes: an event of a span, or one of those in an attribute. */
interface NamedEvent {
  readonly name: string
  readonly attributes: JsonObject
}

/**
 * The messages of one side that are in events, as OpenTelemetry had them before version 1.37.
 * `isTool` is true for the events of a tool: the message to it has its arguments.
 */
export const messagesOfEvents = (
  events: unknown,
  side: 'input' | 'output',
  isTool = false,
): Message[] =>
  toEvents(events)
    .slice(0, MAX_MESSAGES)
    .flatMap((event) =>
      isTool && event.name === TOOL_MESSAGE && side === 'input'
        ? toMessagesOrText(event.attributes['content'], 'user')
        : messagesOfEvent(event, side),
    )

/**
 * The same of a list in an attribute. logfire has no choice in it: what the model has said last is
 * its answer, if nothing follows.
 */
export function messagesOfEventList(value: unknown, side: 'input' | 'output'): Message[] {
  const events = toEvents(value).filter(({ name }) => Object.hasOwn(MESSAGE_EVENTS, name))
  if (events.some(({ name }) => MESSAGE_EVENTS[name]?.side === 'output')) {
    return messagesOfEvents(value, side)
  }
  const answer = events.findLastIndex(({ name }) => name !== ASSISTANT_MESSAGE) + 1
  const own = side === 'output' ? events.slice(answer) : events.slice(0, answer)
  return own.slice(0, MAX_MESSAGES).flatMap((event) => messagesOfEvent(event, 'input'))
}

const TOOL_MESSAGE = 'gen_ai.tool.message'
const ASSISTANT_MESSAGE = 'gen_ai.assistant.message'

function toEvents(value: unknown): NamedEvent[] {
  const list = unpack(value)
  if (!Array.isArray(list)) return []
  return list.filter(isObject).map((event) => {
    const name = memberOf(event, ['event.name', 'name'])
    const attributes = isObject(event['attributes']) ? event['attributes'] : event
    return { name: typeof name === 'string' ? name : '', attributes }
  })
}

const CONTENTS = { input: 'gen_ai.prompt', output: 'gen_ai.completion' } as const
const DETAILS = 'gen_ai.client.inference.operation.details'

function messagesOfEvent({ name, attributes }: NamedEvent, side: 'input' | 'output'): Message[] {
  if (name === DETAILS) return messagesOfDetails(attributes, side)
  const known = Object.hasOwn(MESSAGE_EVENTS, name) ? MESSAGE_EVENTS[name] : undefined
  if (known?.side !== side) return []
  const document = attributes[CONTENTS[side]]
  if (document !== undefined) return toMessagesOrText(document, known.role)
  const { id, ...rest } = attributes
  const message = known.role === 'tool' && id !== undefined ? { tool_call_id: id, ...rest } : rest
  const body = message['message'] ?? message['body'] ?? message
  return toMessages(withRole(unpack(body), known.role), known.role)
}

const withRole = (body: unknown, role: string): unknown =>
  isObject(body) ? { ...body, role: body['role'] ?? role } : body

function messagesOfDetails(attributes: JsonObject, side: 'input' | 'output'): Message[] {
  const messages = attributes[`gen_ai.${side}.messages`]
  const role = side === 'input' ? 'user' : 'assistant'
  const found = messages === undefined ? [] : toMessagesOrText(messages, role)
  const instructions = side === 'input' ? attributes['gen_ai.system_instructions'] : undefined
  return instructions === undefined ? found : [...systemMessages(instructions), ...found]
}

import { unflatten } from './flattened.ts'
import { isObject, parseJson, toText, unpack } from './json.ts'
import type { JsonObject } from './json.ts'
import { systemMessages, toMessages, toMessagesOrText } from './message-documents.ts'
import { messagesOfEventList, messagesOfEvents } from './message-events.ts'
import { MESSAGE_KEYS, REASONING_KEY } from './message-keys.ts'
import type { MessageSource } from './message-keys.ts'
import { MAX_MESSAGES } from './message.ts'
import type { Message, Messages } from '../../shared/trace-answers/one-trace.ts'

/** The columns of a row of `spans` that may hold messages, each the text of a JSON document. */
interface MessageColumns {
  readonly attributes: string | null
  readonly payload: string | null
  readonly events: string | null
}

const SIDES = {
  input: { sources: MESSAGE_KEYS.input, role: 'user' },
  output: { sources: MESSAGE_KEYS.output, role: 'assistant' },
} as const

type Side = keyof typeof SIDES

/**
 * The input and the output of a span as messages, under whichever keys its library wrote them. What
 * is in no known shape, also JSON that was cut, is a message of that text; raises nothing.
 */
export function messagesOf(span: MessageColumns): Messages {
  const attributes = { ...objectOf(span.attributes), ...objectOf(span.payload) }
  const events = span.events === null ? undefined : parseJson(span.events)
  const source = { attributes, events }
  const input = messagesOfSide(source, 'input')
  return {
    input: [...instructionsOf(attributes, input), ...input].slice(0, MAX_MESSAGES),
    output: answerOf(messagesOfSide(source, 'output')).slice(0, MAX_MESSAGES),
  }
}

/** Some agents hand out the whole conversation: the answer is what was said last in it. */
function answerOf(messages: readonly Message[]): readonly Message[] {
  if (!messages.some(({ role }) => role === 'user')) return messages
  const last = messages.findLast(({ role }) => role === 'assistant')
  return last === undefined ? messages : [last]
}

const objectOf = (json: string | null): JsonObject => {
  const value = json === null ? undefined : parseJson(json)
  return isObject(value) ? value : {}
}

interface Source {
  readonly attributes: JsonObject
  readonly events: unknown
}

/** Instructions beside the messages, unless the messages begin with some. */
function instructionsOf(attributes: JsonObject, input: readonly Message[]): Message[] {
  if (input[0]?.role === 'system') return []
  return MESSAGE_KEYS.instructions.flatMap((key) => systemMessages(attributes[key]))
}

function messagesOfSide(span: Source, side: Side): Message[] {
  const { sources, role } = SIDES[side]
  const isTool = span.attributes['gen_ai.operation.name'] === 'execute_tool'
  const inEvents = messagesOfEvents(span.events, side, isTool)
  for (const source of sources) {
    const messages = messagesIn(span.attributes, source, { side, role })
    if (messages.length > 0) return messages
    // The events of the span come where the attribute does that holds the same.
    if ('events' in source && inEvents.length > 0) return inEvents
  }
  return []
}

function messagesIn(
  attributes: JsonObject,
  source: MessageSource,
  { side, role }: { side: Side; role: string },
): Message[] {
  if ('prefix' in source) {
    return unflatten(attributes, source.prefix).flatMap((item) => toMessages(item, role))
  }
  if ('events' in source) return messagesOfEventList(attributes[source.events], side)
  if ('text' in source) return textMessage(attributes[source.text], role)
  return source.documents.flatMap((key) =>
    key === REASONING_KEY ? reasoning(attributes[key]) : documentMessages(attributes[key], role),
  )
}

const documentMessages = (value: unknown, role: string): Message[] =>
  value === undefined || value === null || value === '' ? [] : toMessagesOrText(value, role)

const textMessage = (value: unknown, role: string): Message[] =>
  value === undefined || value === ''
    ? []
    : [{ role, content: [{ type: 'text', text: toText(value) }] }]

const reasoning = (value: unknown): Message[] =>
  typeof value === 'string' && value !== ''
    ? [{ role: 'assistant', content: [{ type: 'reasoning', text: toText(unpack(value)) }] }]
    : []

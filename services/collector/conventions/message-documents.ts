import { isObject, memberOf, textOf, toText, unpack } from './json.ts'
import type { JsonObject } from './json.ts'
import { MEMBERS, PART_TYPES, ROLES, ROLES_BY_TYPE } from './message-keys.ts'
import { toCall, toolResult, toParts } from './message-parts.ts'
import { MAX_MESSAGES, MAX_WRAPPERS } from './message.ts'
import type { Message, Part } from '../../shared/trace-answers/one-trace.ts'

/**
 * The messages of a document: a text, a message, a list of messages, or a request or an answer that
 * holds one. `role` is that of messages that name none.
 */
export function toMessages(value: unknown, role: string, depth = 0): Message[] {
  const document = unpack(value)
  if (depth > MAX_WRAPPERS || document === undefined || document === null) return []
  if (Array.isArray(document)) return messagesOfList(document, role, depth)
  if (!isObject(document)) return toMessage(role, toParts(toText(document)))
  return messagesOfObject(document, role, depth)
}

/** A document in its known shapes, else as a text: what a span has is never hidden. */
export function toMessagesOrText(value: unknown, role: string): Message[] {
  const messages = toMessages(value, role)
  if (messages.length > 0 || isKnown(unpack(value))) return messages
  return toMessage(role, toParts(typeof value === 'string' ? value : toText(value)))
}

/** True for what would have been messages if there were something in it. */
function isKnown(document: unknown): boolean {
  if (Array.isArray(document)) return document.every(isMessage)
  if (!isObject(document)) return false
  const { args, kwargs } = document
  // What a function of Python was called with, as OpenLLMetry writes it.
  if (Array.isArray(args) && isObject(kwargs))
    return args.length === 0 && Object.keys(kwargs).length === 0
  return Object.keys(document).length === 0 || isMessage(document)
}

function messagesOfList(list: readonly unknown[], role: string, depth: number): Message[] {
  const items = list.slice(0, MAX_MESSAGES)
  // A list of parts, or of texts, is one message.
  if (items.every((item) => !isMessage(item))) return toMessage(role, toParts(items))
  return items.flatMap((item) => toMessages(item, role, depth + 1)).slice(0, MAX_MESSAGES)
}

const MESSAGE_MEMBERS = [...MEMBERS.role, ...MEMBERS.wrappers, 'parts', ...MEMBERS.calls]
/** Items of the Responses API that are a message of their own. */
const MESSAGE_TYPES: readonly unknown[] = ['function_call', 'function_call_output']

/** True for what is, or holds, messages rather than a part of one. */
function isMessage(item: unknown): boolean {
  if (!isObject(item)) return Array.isArray(item)
  const isNamed =
    memberOf(item, MESSAGE_MEMBERS) !== undefined ||
    isObject(item['content']) ||
    langChainOf(item) !== undefined
  return isNamed || MESSAGE_TYPES.includes(item['type']) || Array.isArray(item['summary'])
}

/** What LangChain wraps: a message in `{type, data}`, messages in the update of a step. */
function langChainOf({ type, data, update }: JsonObject): JsonObject | undefined {
  if (isObject(data) && typeof type === 'string' && Object.hasOwn(ROLES_BY_TYPE, type)) return data
  return isObject(update) && Array.isArray(update['messages']) ? update : undefined
}

function messagesOfObject(object: JsonObject, role: string, depth: number): Message[] {
  const wrapped = memberOf(object, MEMBERS.wrappers) ?? langChainOf(object)
  if (isObject(wrapped)) return toMessages(wrapped, role, depth + 1)
  const isOne = memberOf(object, MEMBERS.role) !== undefined || isPart(object)
  if (isOne) return messageOf(object, role)
  const listed = messagesOfRequest(object, role, depth)
  if (listed.length > 0) return listed
  if (isObject(object['content'])) return toMessages(object['content'], role, depth + 1)
  return messageOf(object, role)
}

/** The instructions and the messages of a request, or the choices of an answer. */
function messagesOfRequest(object: JsonObject, role: string, depth: number): Message[] {
  const { config } = object
  const options = isObject(config) ? { ...config, ...object } : object
  const instructions = memberOf(options, MEMBERS.instructions)
  const system = instructions === undefined ? [] : systemMessages(instructions)
  const list = memberOf(object, MEMBERS.lists)
  return list === undefined ? [] : [...system, ...toMessages(list, role, depth + 1)]
}

/** The system's instructions: a text, parts, or a message. */
export function systemMessages(value: unknown): Message[] {
  const content = unpack(value)
  if (isObject(content) && memberOf(content, ['parts', 'role']) !== undefined) {
    return messageOf(content, 'system').map((message) => ({ ...message, role: 'system' }))
  }
  return toMessages(content, 'system')
}

function messageOf(object: JsonObject, role: string): Message[] {
  const given = textOf(object, MEMBERS.role) ?? typeAsRole(object) ?? role
  const named = ROLES[given] ?? given
  const callId = textOf(object, MEMBERS.callId)
  const content = memberOf(object, MEMBERS.content)
  if (callId !== undefined && (named === 'tool' || named === 'function')) {
    return toMessage('tool', resultOf(callId, content))
  }
  const own = isPart(object) ? toParts(object) : toParts(content)
  return toMessage(named, withCalls([...reasoningOf(object), ...own], object))
}

const typeAsRole = ({ type }: JsonObject): string | undefined =>
  typeof type === 'string' && Object.hasOwn(ROLES_BY_TYPE, type) ? ROLES_BY_TYPE[type] : undefined

const isPart = (object: JsonObject): boolean =>
  memberOf(object, MEMBERS.role) === undefined &&
  typeof object['type'] === 'string' &&
  Object.hasOwn(PART_TYPES, object['type'])

/** A list of results stays; anything else is the result of the call. */
function resultOf(id: string, content: unknown): Part[] {
  const parts = toParts(content)
  if (parts.some(({ type }) => type === 'tool_result')) return parts
  return [toolResult({ id }, content ?? '')]
}

function reasoningOf(object: JsonObject): Part[] {
  const text = textOf(object, ['reasoning_content', 'reasoning'])
  return text === undefined ? [] : [{ type: 'reasoning', text }]
}

/** The parts with the calls beside them, each once. */
function withCalls(parts: readonly Part[], object: JsonObject): Part[] {
  const list = unpack(memberOf(object, MEMBERS.calls))
  const single = memberOf(object, MEMBERS.call)
  const given = Array.isArray(list) ? list : isObject(single) ? [single] : []
  const calls = given.slice(0, MAX_MESSAGES).flatMap((call: unknown) => {
    const body = isObject(call) && isObject(call['tool_call']) ? call['tool_call'] : call
    return isObject(body) ? (toCall(body) ?? []) : []
  })
  return [...parts, ...calls.filter((call) => !parts.some((part) => isSameCall(part, call)))]
}

const isSameCall = (part: Part, call: Part): boolean =>
  part.type === 'tool_call' &&
  call.type === 'tool_call' &&
  part.name === call.name &&
  (part.id === call.id || part.id === undefined || call.id === undefined)

/** No message without parts. */
const toMessage = (role: string, parts: readonly Part[]): Message[] =>
  parts.length > 0 ? [{ role, content: parts.slice(0, MAX_MESSAGES) }] : []

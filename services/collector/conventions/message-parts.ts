import { isObject, memberOf, textOf, toText, unpack } from './json.ts'
import type { JsonObject } from './json.ts'
import { BLOCKS, MEMBERS, PART_TYPES } from './message-keys.ts'
import { MAX_MESSAGES, MAX_WRAPPERS } from './message.ts'
import type { Part } from '../../shared/trace-answers/one-trace.ts'

/** The parts of a content: a text, a list of parts, or one part. */
export function toParts(content: unknown, depth = 0): Part[] {
  if (depth > MAX_WRAPPERS || content === undefined || content === null) return []
  if (typeof content === 'string') return partsOfText(content, depth)
  if (Array.isArray(content)) {
    return content.slice(0, MAX_MESSAGES).flatMap((part) => toParts(part, depth + 1))
  }
  return isObject(content)
    ? partsOfObject(content, depth)
    : [{ type: 'text', text: toText(content) }]
}

/** A text may be the JSON of a list of parts: some libraries have only texts to write to. */
function partsOfText(text: string, depth: number): Part[] {
  const list = text.startsWith('[') ? unpack(text) : undefined
  const isParts = Array.isArray(list) && list.length > 0
  if (isParts && (list.every(isTypedPart) || list.every(isBlock))) {
    return toParts(list, depth + 1)
  }
  return text === '' ? [] : [{ type: 'text', text }]
}

const isTypedPart = (part: unknown): boolean =>
  isObject(part) && typeof part['type'] === 'string' && Object.hasOwn(PART_TYPES, part['type'])

function isBlock(part: unknown): boolean {
  const [name, ...others] = isObject(part) ? Object.keys(part) : []
  return name !== undefined && others.length === 0 && BLOCKS.includes(name)
}

function partsOfObject(object: JsonObject, depth: number): Part[] {
  const wrapped = memberOf(object, MEMBERS.partWrappers)
  if (isObject(wrapped)) return toParts(wrapped, depth + 1)
  const name = typeNameOf(object)
  // Gemini names a part by its only member, whose value is the part.
  const inner = name === undefined ? undefined : object[name]
  const body = object['type'] === name || !isObject(inner) ? object : inner
  const part = toPart(name === undefined ? undefined : PART_TYPES[name], body)
  if (part) return [part]
  return name === undefined && Object.keys(object).length > 0 ? [unknownPart(object)] : []
}

/** What no convention knows is shown as it is. */
const unknownPart = (object: JsonObject): Part => ({ type: 'text', text: toText(object) })

function typeNameOf(object: JsonObject): string | undefined {
  if (typeof object['type'] === 'string' && Object.hasOwn(PART_TYPES, object['type'])) {
    return object['type']
  }
  // A thought of Gemini is a text with a mark.
  if (object['thought'] === true && typeof object['text'] === 'string') return 'reasoning'
  if (object['function'] || (object['name'] && object['arguments'] !== undefined))
    return 'tool_call'
  if (object['toolName'] && object['toolCallId'])
    return 'result' in object ? 'tool-result' : 'tool-call'
  return Object.keys(object).find((name) => Object.hasOwn(PART_TYPES, name))
}

function toPart(
  meaning: (typeof PART_TYPES)[string] | undefined,
  body: JsonObject,
): Part | undefined {
  if (meaning === 'call') return toCall(body)
  if (meaning === 'result') return toolResult(idOf(body), memberOf(body, MEMBERS.result) ?? '')
  if (meaning === 'image') return toImage(body)
  if (meaning === undefined) return undefined
  const found = memberOf(body, MEMBERS.text)
  const text = Array.isArray(found) ? textOfList(found) : toText(found ?? '')
  return text === '' ? undefined : { type: meaning, text }
}

/** A list of texts, or of objects with a text. */
const textOfList = (list: readonly unknown[]): string =>
  list
    .map((item) => (isObject(item) ? (textOf(item, MEMBERS.text) ?? '') : toText(item)))
    .join('\n')

/** A call of a tool; OpenAI puts name and arguments into `function`. */
export function toCall(body: JsonObject): Part | undefined {
  const inner = isObject(body['function']) ? body['function'] : body
  const name = textOf(inner, MEMBERS.name)
  if (name === undefined) return undefined
  const id = idOf(body)
  return {
    type: 'tool_call',
    ...id,
    name,
    arguments: unpack(memberOf(inner, MEMBERS.arguments) ?? {}),
  }
}

const idOf = (body: JsonObject): { id?: string } => {
  const id = textOf(body, MEMBERS.id)
  return id === undefined ? {} : { id }
}

/** A tool's result; of a list of text parts, or `{type, value}`, the texts are what counts. */
export function toolResult(id: { id?: string }, content: unknown): Part {
  const value =
    isObject(content) && 'value' in content && 'type' in content ? content['value'] : content
  const isTexts = Array.isArray(value) && value.length > 0 && value.every(isTextPart)
  return { type: 'tool_result', ...id, content: isTexts ? textOfList(value) : toText(value) }
}

const isTextPart = (part: unknown): boolean =>
  isObject(part) &&
  (part['type'] === 'text' || isBlock(part)) &&
  textOf(part, MEMBERS.text) !== undefined

function toImage(body: JsonObject): Part | undefined {
  const source = isObject(body['source']) ? body['source'] : body
  const found = memberOf(source, MEMBERS.url)
  const mimeType = textOf(source, MEMBERS.mimeType)
  const url = isObject(found) ? textOf(found, MEMBERS.url) : toText(found ?? '')
  if (!url) return undefined
  const isData =
    (source['data'] ?? source['content'] ?? source['bytes']) === found && !/^\w+:/.test(url)
  return {
    type: 'image',
    url: isData ? `data:${mimeType ?? ''};base64,${url}` : url,
    ...(mimeType === undefined ? {} : { mime_type: mimeType }),
  }
}

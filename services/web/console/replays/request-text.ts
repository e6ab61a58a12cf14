import { canonicalJson } from '../../../shared/canonical-json.ts'
import { isObject } from '../../../shared/is-object.ts'

/**
 * Writes what a model, a tool or a person was asked as people read it, a line for each part: a
 * conversation with its messages first, what is offered and set after them. Empty for nothing.
 */
export function requestText(request: unknown): string {
  if (request === undefined) return ''
  // A record has its members in canonical order.
  const sorted: unknown = JSON.parse(canonicalJson(request))
  if (!isObject(sorted) || !Array.isArray(sorted['messages'])) return pretty(sorted)
  const { model, messages, tools, parameters } = sorted
  const parts = [
    `model: ${String(model)}`,
    ...messages.map(messageText),
    ...(parameters === undefined ? [] : [`parameters: ${pretty(parameters)}`]),
    ...(tools === undefined ? [] : [`tools: ${pretty(tools)}`]),
  ]
  return parts.join('\n\n')
}

const pretty = (value: unknown): string => JSON.stringify(value, null, 2)

function messageText(message: unknown): string {
  if (!isObject(message) || typeof message['content'] !== 'string') return pretty(message)
  const { role, content, ...more } = message
  const rest = Object.keys(more).length === 0 ? '' : `\n${pretty(more)}`
  return `${String(role)}:\n${content}${rest}`
}

/** Writes an output for a comparison, line by line: one that is JSON with its parts on lines. */
export function outputText(output: string): string {
  try {
    return pretty(JSON.parse(canonicalJson(JSON.parse(output))))
  } catch {
    return output
  }
}

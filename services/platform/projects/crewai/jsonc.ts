import { AppError } from '../../../shared/errors.ts'
import { parseStrictJson } from '../../../shared/http/strict-json.ts'
import { findMistake } from './yaml-file.ts'

/**
 * Parses JSON with comments and trailing commas. Raises `invalid_request` with the line of a
 * mistake, and what `parseStrictJson` raises.
 */
export function parseJsonc(text: string): unknown {
  const plain = replaceOutside(
    replaceOutside(text, /\/\/[^\r\n]*|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\//y),
    /,(?=\s*[}\]])/y,
  )
  try {
    JSON.parse(plain)
  } catch {
    throw new AppError('invalid_request', describe(plain))
  }
  return parseStrictJson(Buffer.from(plain), 'The file')
}

const STRING = /"[^"\\]*(?:\\[^][^"\\]*)*"/y
const PLAIN = /[^"/,]+/y

/**
 * Replaces what an expression finds outside of strings by spaces, so that all else keeps its place.
 * Goes over the text once: behind a string or a comment that does not end, nothing is replaced.
 */
function replaceOutside(text: string, found: RegExp): string {
  const parts: string[] = []
  let at = 0
  while (at < text.length) {
    const end = endOf(PLAIN, text, at) ?? endOf(STRING, text, at)
    const to = end ?? endOf(found, text, at)
    const isOpen = text[at] === '"' || text.startsWith('/*', at)
    const next = to ?? (isOpen ? text.length : at + 1)
    const part = text.slice(at, next)
    parts.push(end === undefined && to !== undefined ? part.replace(/[^\r\n]/g, ' ') : part)
    at = next
  }
  return parts.join('')
}

function endOf(expression: RegExp, text: string, at: number): number | undefined {
  expression.lastIndex = at
  return expression.test(text) ? expression.lastIndex : undefined
}

/** The parser of JavaScript tells the place of some mistakes only. */
function describe(text: string): string {
  const found = findMistake(text)
  const where = found
    ? `look at line ${found.line}, column ${found.column}`
    : 'check quotes, commas'
  return `This is not valid JSON with comments: ${where}.`
}

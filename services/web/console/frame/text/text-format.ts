const INDENT = '  '
/**
 * Deeper levels are indented no further: each line of deeply nested JSON would be as long as it is
 * deep.
 */
const LEVELS_MAX = 20
/** Longer texts, in characters, are shown as they are: others wait while one is rendered. */
const RENDERED_LENGTH_MAX = 200_000

/** The formats that a text can be shown in. */
type TextFormat = 'json' | 'markdown' | 'plain'

/** Returns the format in which a text that a crew wrote is best shown. */
export function formatOf(text: string): TextFormat {
  if (text.length > RENDERED_LENGTH_MAX) return 'plain'
  return isJson(text) ? 'json' : 'markdown'
}

/** Tells whether a text is a JSON object or array; a lone number or word is just a text. */
export function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/g

/** Returns the tokens of valid JSON, as they were written. */
export const tokensOf = (text: string): readonly string[] => text.match(TOKEN) ?? []

/**
 * Returns valid JSON with line breaks and indentation. Numbers, repeated keys and escapes stay
 * exactly as they were written.
 */
export function indentJson(text: string): string {
  let depth = 0
  let previous = ''
  let out = ''
  for (const token of tokensOf(text)) {
    if (isCloser(token)) depth -= 1
    out += gap(previous, token, depth) + token
    if (isOpener(token)) depth += 1
    previous = token
  }
  return out
}

function gap(previous: string, token: string, depth: number): string {
  if (isOpener(previous) && isCloser(token)) return ''
  if (isOpener(previous) || previous === ',' || isCloser(token)) {
    return `\n${INDENT.repeat(Math.min(depth, LEVELS_MAX))}`
  }
  return previous === ':' ? ' ' : ''
}

/** Tells whether a token begins an object or an array. */
export const isOpener = (token: string): boolean => token === '{' || token === '['
/** Tells whether a token ends an object or an array. */
export const isCloser = (token: string): boolean => token === '}' || token === ']'

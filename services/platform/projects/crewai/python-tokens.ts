import { AppError } from '../../../shared/errors.ts'

/** A word, string, number or sign of a Python program. */
export interface Token {
  readonly kind: 'name' | 'string' | 'number' | 'sign'
  readonly text: string
}

/** A statement or the head of one, without comments. */
export interface Line {
  /** Its number in the file, from 1. */
  readonly number: number
  /** The characters before it. */
  readonly indent: number
  readonly tokens: readonly Token[]
}

const BLANK = String.raw`[ \t\f]+|\\\r?\n|#[^\n]*`
const STRING =
  String.raw`[rRbBuUfF]{0,2}(?:"""(?:[^"\\]|\\[^]|"(?!""))*"""|` +
  String.raw`'''(?:[^'\\]|\\[^]|'(?!''))*'''|` +
  String.raw`"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*')`
const TOKEN = new RegExp(
  String.raw`(?<blank>${BLANK})|(?<newline>\r?\n)|(?<string>${STRING})|` +
    String.raw`(?<name>[\p{L}_][\p{L}\p{N}_]*)|(?<number>\d[\w.]*)|(?<sign>->|\*\*|[^])`,
  'uy',
)
const OPENING = new Set(['(', '[', '{'])
const CLOSING = new Set([')', ']', '}'])

/**
 * Splits a Python program into its lines, those that are continued within brackets or behind a
 * backslash as one. Knows no grammar beyond that. Raises `invalid_request` for a string that does
 * not end.
 */
export function readLines(program: string): Line[] {
  const lines: { number: number; indent: number; tokens: Token[] }[] = []
  let isOpen = false
  let depth = 0
  let number = 1
  let lineStart = 0
  for (const { groups = {}, index, 0: text } of program.matchAll(new RegExp(TOKEN, 'uyg'))) {
    const token = toToken(groups)
    if (token) {
      // Each quotation mark behind it would be tried against the rest of the file.
      if (token.kind === 'sign' && /["']/.test(token.text)) throw unended(number)
      if (!isOpen) lines.push({ number, indent: index - lineStart, tokens: [] })
      isOpen = true
      lines.at(-1)?.tokens.push(token)
      depth = Math.max(0, depth + depthOf(token))
    } else if (groups['newline'] !== undefined && depth === 0) isOpen = false
    const breaks = text.split('\n').length - 1
    number += breaks
    if (breaks > 0) lineStart = index + text.lastIndexOf('\n') + 1
  }
  return lines
}

/** 1 for a bracket that opens, -1 for one that closes, and else 0. */
export function depthOf({ kind, text }: Token): number {
  if (kind !== 'sign') return 0
  return OPENING.has(text) ? 1 : CLOSING.has(text) ? -1 : 0
}

function toToken(groups: Readonly<Record<string, string | undefined>>): Token | undefined {
  for (const kind of ['string', 'name', 'number', 'sign'] as const) {
    const text = groups[kind]
    if (text !== undefined) return { kind, text }
  }
  return undefined
}

const unended = (line: number): AppError =>
  new AppError(
    'invalid_request',
    `This is not valid Python: the string in line ${line} has no end.`,
  )

import { depthOf } from './python-tokens.ts'
import type { Token } from './python-tokens.ts'

/** An expression of a Python program, as far as it is understood. */
export type Expression =
  | { readonly kind: 'value'; readonly value: string | number | boolean | null }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | { readonly kind: 'dict'; readonly entries: readonly (readonly [string, Expression])[] }
  | ({ readonly kind: 'call' } & PythonCall)
  | { readonly kind: 'entry'; readonly of: string; readonly key: string }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'other'; readonly text: string }

/** A call of a function or a class. */
export interface PythonCall {
  /** With dots: `self.researcher`. */
  readonly name: string
  readonly positional: readonly Expression[]
  readonly named: readonly (readonly [string, Expression])[]
}

const DEPTH_MAX = 20
const PAIRS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }
const CONSTANTS = new Map<string, boolean | null>([
  ['True', true],
  ['False', false],
  ['None', null],
])

/**
 * Reads an expression: literals, lists, dictionaries, names, `name[...]` and calls. Anything else
 * is `other`, with its text.
 */
export function readExpression(tokens: readonly Token[], depth = 0): Expression {
  const other: Expression = { kind: 'other', text: show(tokens) }
  const [first] = tokens
  if (!first || depth > DEPTH_MAX) return other
  const literal = readLiteral(tokens)
  if (literal !== undefined) return { kind: 'value', value: literal }
  const inner = innerOf(tokens, 0)
  if (inner) return readBracket(first.text, inner, depth) ?? other
  return readNamed(tokens, depth) ?? other
}

function readBracket(
  opening: string,
  inner: readonly Token[],
  depth: number,
): Expression | undefined {
  const items = split(inner, ',')
  const hasComma = items.length > 1 || inner.at(-1)?.text === ','
  if (opening === '(' && !hasComma) return readExpression(inner, depth + 1)
  if (opening !== '{') {
    return { kind: 'list', items: items.map((each) => readExpression(each, depth + 1)) }
  }
  const entries = items.map((item): readonly [string, Expression] | undefined => {
    const [name = [], value = []] = split(item, ':')
    const key = readLiteral(name)
    return typeof key === 'string' ? [key, readExpression(value, depth + 1)] : undefined
  })
  if (entries.includes(undefined)) return undefined
  return { kind: 'dict', entries: entries.filter((entry) => entry !== undefined) }
}

/** A name with dots, and what is called with or taken from it. */
function readNamed(tokens: readonly Token[], depth: number): Expression | undefined {
  const length = lengthOfName(tokens)
  const name = tokens
    .slice(0, length)
    .map(({ text }) => text)
    .join('')
  if (length === 0) return undefined
  if (length === tokens.length) return { kind: 'name', name }
  const inner = innerOf(tokens, length)
  const opening = tokens[length]?.text
  if (!inner || opening === '{') return undefined
  if (opening === '(') return { kind: 'call', name, ...readArguments(inner, depth) }
  const key = readLiteral(inner)
  return typeof key === 'string' ? { kind: 'entry', of: name, key } : undefined
}

/** The tokens of `self.tasks_config` at the beginning; 0 when there is no name. */
function lengthOfName(tokens: readonly Token[]): number {
  if (tokens[0]?.kind !== 'name') return 0
  let length = 1
  while (tokens[length]?.text === '.' && tokens[length + 1]?.kind === 'name') length += 2
  return length
}

function readArguments(tokens: readonly Token[], depth: number): Omit<PythonCall, 'name'> {
  const given = split(tokens, ',').map((each) => {
    const isNamed = each[0]?.kind === 'name' && each[1]?.text === '=' && each[2]?.text !== '='
    const value = readExpression(isNamed ? each.slice(2) : each, depth + 1)
    return { name: isNamed ? (each[0]?.text ?? '') : undefined, value }
  })
  return {
    positional: given.flatMap(({ name, value }) => (name === undefined ? [value] : [])),
    named: given.flatMap(({ name, value }) => (name === undefined ? [] : [[name, value] as const])),
  }
}

/** The tokens within the brackets that begin at `start` and end with the last token. */
function innerOf(tokens: readonly Token[], start: number): readonly Token[] | undefined {
  const closing = PAIRS[tokens[start]?.text ?? '']
  if (closing === undefined || tokens.at(-1)?.text !== closing) return undefined
  let depth = 0
  for (const [index, token] of tokens.entries()) {
    if (index < start) continue
    depth += depthOf(token)
    if (depth === 0 && index < tokens.length - 1) return undefined
  }
  return tokens.slice(start + 1, -1)
}

/** Splits tokens at a sign that is in no brackets; an empty part at the end is left out. */
function split(tokens: readonly Token[], sign: string): Token[][] {
  const parts: Token[][] = [[]]
  let depth = 0
  for (const token of tokens) {
    depth += depthOf(token)
    if (token.kind === 'sign' && token.text === sign && depth === 0) parts.push([])
    else parts.at(-1)?.push(token)
  }
  return parts.at(-1)?.length === 0 ? parts.slice(0, -1) : parts
}

function readLiteral(tokens: readonly Token[]): string | number | boolean | null | undefined {
  const [first, second, ...others] = tokens
  if (!first || tokens.every(({ kind }) => kind === 'string')) return readStrings(tokens)
  if (first.text === '-' && others.length === 0) return readNumber(second, -1)
  if (second) return undefined
  return first.kind === 'name' ? CONSTANTS.get(first.text) : readNumber(first, 1)
}

function readNumber(token: Token | undefined, sign: 1 | -1): number | undefined {
  const value = token?.kind === 'number' ? Number(token.text.replaceAll('_', '')) : Number.NaN
  return Number.isFinite(value) ? sign * value : undefined
}

/** Strings beside each other are one; those that run code or hold bytes are not read. */
function readStrings(tokens: readonly Token[]): string | undefined {
  if (tokens.length === 0) return undefined
  const texts = tokens.map(({ text }) => readString(text))
  return texts.includes(undefined) ? undefined : texts.join('')
}

function readString(text: string): string | undefined {
  const [, prefix = '', quote = ''] = /^([a-zA-Z]*)("""|'''|"|')/.exec(text) ?? []
  if (/[fFbB]/.test(prefix)) return undefined
  const inner = text.slice(prefix.length + quote.length, -quote.length)
  return /[rR]/.test(prefix) ? inner : inner.replace(ESCAPE, unescape)
}

const ESCAPE = /\\(?:\r?\n|x[\da-fA-F]{2}|u[\da-fA-F]{4}|[^])/g
const ESCAPED: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '\\': '\\',
  "'": "'",
  '"': '"',
}

function unescape(escape: string): string {
  const rest = escape.slice(1)
  if (/^\r?\n$/.test(rest)) return ''
  if (/^[xu]./.test(rest)) return String.fromCharCode(Number.parseInt(rest.slice(1), 16))
  return ESCAPED[rest] ?? escape
}

function show(tokens: readonly Token[]): string {
  const text = tokens.map((token) => token.text).join(' ')
  return text.length > 80 ? `${text.slice(0, 80)} …` : text
}

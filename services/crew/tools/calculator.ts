import { answer, toolError } from './tool.ts'
import type { CrewTool } from './tool.ts'

const CHARACTERS_MAX = 1000
const DEPTH_MAX = 100

const CONSTANTS: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E }
const FUNCTIONS: Readonly<Record<string, (...given: number[]) => number>> = {
  abs: Math.abs,
  acos: Math.acos,
  asin: Math.asin,
  atan: Math.atan,
  ceil: Math.ceil,
  cos: Math.cos,
  exp: Math.exp,
  floor: Math.floor,
  ln: Math.log,
  log10: Math.log10,
  log2: Math.log2,
  max: Math.max,
  min: Math.min,
  round: Math.round,
  sin: Math.sin,
  sqrt: Math.sqrt,
  tan: Math.tan,
}
const ANY_NUMBER = new Set(['max', 'min'])
const TOKEN =
  /\s*(?:(\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|([a-z]\w*)|(\*\*|[-+*/%^(),]))/iy

/** Creates the tool that computes. */
export const createCalculator = (name: string): CrewTool => ({
  name,
  key: name,
  type: 'calculator',
  description:
    'Computes an arithmetic expression: + - * / % ^ ( ), the constants pi and e, and the ' +
    `functions ${Object.keys(FUNCTIONS).join(', ')}. Angles are in radians.`,
  parameters: {
    type: 'object',
    properties: { expression: { type: 'string', description: 'Such as (17.5 + 3) * 12 / 100' } },
    required: ['expression'],
    additionalProperties: false,
  },
  timeoutMs: 1000,
  async call({ arguments: { expression } }) {
    return answer(String(calculate(String(expression))))
  },
})

/** Computes an arithmetic expression. Raises an error that says where it cannot be read. */
export function calculate(expression: string): number {
  if (expression.length > CHARACTERS_MAX) {
    throw toolError(`The expression is longer than ${CHARACTERS_MAX} characters.`)
  }
  const cursor = createCursor(tokenize(expression))
  const value = readSum(cursor)
  if (cursor.peek() !== undefined) throw cursor.unexpected()
  if (!Number.isFinite(value)) throw toolError('The result is not a finite number.')
  return value
}

interface Cursor {
  peek(): string | undefined
  /** Goes on, and returns the token, if it is one of those. */
  take(...wanted: string[]): string | undefined
  /** Returns the token, and goes on. */
  next(): string
  unexpected(): Error
  /** Counts how deep expressions are nested. */
  nest<Result>(read: () => Result): Result
}

function createCursor(tokens: readonly string[]): Cursor {
  let at = 0
  let depth = 0
  return {
    peek: () => tokens[at],
    take(...wanted) {
      const next = tokens[at]
      if (next === undefined || !wanted.includes(next)) return undefined
      at += 1
      return next
    },
    next() {
      at += 1
      return tokens[at - 1] ?? ''
    },
    unexpected() {
      const found = tokens[at]
      if (found === undefined) return toolError('The expression ends too early.')
      return toolError(`The expression cannot be read at ${found}.`)
    },
    nest(read) {
      if ((depth += 1) > DEPTH_MAX) throw toolError('The expression is nested too deeply.')
      const result = read()
      depth -= 1
      return result
    },
  }
}

function readSum(cursor: Cursor): number {
  let value = readProduct(cursor)
  for (let sign = cursor.take('+', '-'); sign; sign = cursor.take('+', '-')) {
    const right = readProduct(cursor)
    value = sign === '+' ? value + right : value - right
  }
  return value
}

function readProduct(cursor: Cursor): number {
  let value = readSigned(cursor)
  for (let sign = cursor.take('*', '/', '%'); sign; sign = cursor.take('*', '/', '%')) {
    const right = readSigned(cursor)
    if (sign === '*') value *= right
    else if (sign === '/') value /= right
    else value %= right
  }
  return value
}

const readSigned = (cursor: Cursor): number =>
  cursor.nest(() => {
    const sign = cursor.take('+', '-')
    const value = sign ? readSigned(cursor) : readPower(cursor)
    return sign === '-' ? -value : value
  })

function readPower(cursor: Cursor): number {
  const base = readAtom(cursor)
  return cursor.take('^', '**') ? base ** readSigned(cursor) : base
}

function readAtom(cursor: Cursor): number {
  const next = cursor.peek() ?? ''
  if (/^[\d.]/.test(next)) return Number(cursor.next())
  if (/^[a-z]/i.test(next)) return readNamed(cursor, cursor.next().toLowerCase())
  if (!cursor.take('(')) throw cursor.unexpected()
  const value = readSum(cursor)
  if (!cursor.take(')')) throw cursor.unexpected()
  return value
}

function readNamed(cursor: Cursor, word: string): number {
  const constant = Object.hasOwn(CONSTANTS, word) ? CONSTANTS[word] : undefined
  if (constant !== undefined) return constant
  const compute = Object.hasOwn(FUNCTIONS, word) ? FUNCTIONS[word] : undefined
  if (!compute) throw toolError(`${word.slice(0, 64)} is not known.`)
  if (!cursor.take('(')) throw cursor.unexpected()
  const given = [readSum(cursor)]
  while (cursor.take(',')) given.push(readSum(cursor))
  if (!cursor.take(')')) throw cursor.unexpected()
  if (given.length > 1 && !ANY_NUMBER.has(word)) throw toolError(`${word} takes one number.`)
  return compute(...given)
}

function tokenize(expression: string): string[] {
  const tokens: string[] = []
  const text = expression.trimEnd()
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const from = TOKEN.lastIndex
    const [, number, word, sign] = TOKEN.exec(text) ?? []
    const token = number ?? word ?? sign
    if (token === undefined) {
      throw toolError(`The expression cannot be read at ${text.slice(from, from + 20).trim()}.`)
    }
    tokens.push(token)
  }
  return tokens
}

import { same } from './expression.ts'
import type { Entries, Expression, Reference, Val } from './expression.ts'
import type { FunctionName } from './functions.ts'
import { isPlain, literalBlock } from './scalar.ts'

/**
 * The place at which an expression is printed: within `with` and `range` the dot is not the root.
 */
export interface Scope {
  readonly root: '' | '$'
  /** Within a named template with parameters: that of the place of its use is one of them. */
  readonly context?: '.context'
  /** The expression that the dot stands for, within `with`. */
  readonly dot?: Expression
  /** The dot is an element of a list, which is read below: no `with` may bind it. */
  readonly isItem?: true
  /** The guards that already hold here. */
  readonly known?: readonly Expression[]
}

/** The place outside of every `with` and `range`. */
export const TOP: Scope = { root: '' }

/** The place at the beginning of a named template. */
export const insideOf = (hasParameters: boolean): Scope =>
  hasParameters ? { ...TOP, context: '.context' } : TOP

const contextIn = ({ root, context }: Scope): string => `${root}${context ?? ''}`

/** The call of a named template with the parameters that it has. */
export function printInclude(name: string, given: Entries | undefined, scope: Scope): string {
  const context = contextIn(scope) || '.'
  const parameters = Object.entries(given ?? {}).map(
    ([key, value]) => `${JSON.stringify(key)} ${printArgument(value, scope)}`,
  )
  const dot = given ? `(dict ${[...parameters, `"context" ${context}`].join(' ')})` : context
  return `include ${JSON.stringify(name)} ${dot}`
}

/** An expression as the inside of a Go template action. */
export const printGo = (expression: Expression, scope: Scope): string =>
  print(expression, scope).text

interface Printed {
  readonly text: string
  /** Needs parentheses as an argument. */
  readonly compound: boolean
}

const atom = (text: string): Printed => ({ text, compound: false })
const compound = (text: string): Printed => ({ text, compound: true })

function print(expression: Expression, scope: Scope): Printed {
  if (scope.dot && same(expression, scope.dot)) return atom('.')
  switch (expression.op) {
    case 'literal':
      return atom(JSON.stringify(expression.value))
    case 'reference':
      return printReference(expression, scope)
    case 'item':
      // An element of a list of texts has no key.
      return atom(`.${expression.key}`)
    case 'file':
      return compound(`${contextIn(scope)}.Files.Get ${JSON.stringify(expression.path)}`)
    case 'helper':
      return compound(printInclude(expression.name, expression.parametrized?.given, scope))
    case 'labels':
      return compound(printInclude(expression.name, undefined, scope))
    case 'included':
      return compound(`${printInclude(expression.name, undefined, scope)} | fromYaml`)
    case 'call':
      return printCall(expression, scope)
  }
}

function printReference({ path, isLarge, isParameter }: Reference, scope: Scope): Printed {
  const root = isParameter ? scope.root : contextIn(scope)
  const last = path.at(-1) ?? ''
  const text = `${root}.${path.join('.')}`
  if (/^\w+$/.test(last)) return isLarge ? compound(`int64 ${text}`) : atom(text)
  return compound(`index ${root}.${path.slice(0, -1).join('.')} ${JSON.stringify(last)}`)
}

type Call = Extract<Expression, { op: 'call' }>

// Read best as a pipeline: {{ list … | toJson | sha256sum }}.
const PIPED: ReadonlySet<FunctionName> = new Set([
  'default',
  'toJson',
  'toPrettyJson',
  'sha256sum',
  'trunc',
  'trimAll',
  'trimSuffix',
  'replace',
  'uniq',
  'compact',
  'join',
])

const COMPARING: ReadonlySet<FunctionName> = new Set(['eq', 'gt'])

function printArgument(expression: Expression, scope: Scope): string {
  const { text, compound: needsParentheses } = print(expression, scope)
  return needsParentheses ? `(${text})` : text
}

function printCall({ fn, args }: Call, scope: Scope): Printed {
  const argument = (expression: Expression): string => printArgument(expression, scope)
  const last = args.at(-1)
  if (fn === 'isSet' && last) return print(last, scope)
  if (fn === 'not' && last?.op === 'call' && last.fn === 'eq') {
    return compound(print(last, scope).text.replace(/^eq /, 'ne '))
  }
  if (fn === 'ternary' && last) {
    const [yes, no] = args.slice(0, 2).map(argument)
    return compound(`ternary ${yes} ${no} ${asBoolean(last, argument(last))}`)
  }
  if (COMPARING.has(fn))
    return compound(`${fn} ${args.map((side) => comparable(side, argument(side))).join(' ')}`)
  if (PIPED.has(fn) && last) {
    const head = print(last, scope).text
    return compound([head, '|', fn, ...args.slice(0, -1).map(argument)].join(' '))
  }
  return compound(plainCall(fn, args.map(argument).join(' ')))
}

function plainCall(fn: FunctionName, args: string): string {
  if (fn === 'isMore') return `include "quantity.isMore" (list ${args})`
  // What it finds is a float, as every number of values.
  if (fn === 'dig') return `int64 (dig ${args})`
  return `${fn} ${args}`.trimEnd()
}

/** `ternary` wants a real boolean where `if` takes anything. */
function asBoolean(condition: Expression, printed: string): string {
  const isBoolean =
    condition.op === 'reference'
      ? condition.kind === 'boolean'
      : condition.op === 'call' && ['not', 'eq', 'gt', 'regexMatch'].includes(condition.fn)
  return isBoolean ? printed : `(not (empty ${printed}))`
}

/** Numbers reach templates as float64 or int64, depending on where they were set. */
const comparable = (side: Expression, printed: string): string =>
  side.op === 'reference' && side.kind === 'number' && !side.isLarge
    ? `(${side.hasFraction ? 'float64' : 'int64'} ${printed})`
    : printed

/** A symbolic scalar as the value of a key: texts quoted, numbers and booleans bare. */
export function printScalar({ expression, kind }: Val<unknown>, scope: Scope): string {
  // A quantity is a text or a number, and JSON writes either as YAML has it.
  if (kind === 'quantity') return `{{ ${printGo(expression, scope)} | toJson }}`
  if (kind !== 'string') return `{{ ${printGo(expression, scope)} }}`
  const inline = printInline(expression, scope)
  if (inline !== undefined) return inline
  const [inner] = expression.op === 'call' && expression.fn === 'toString' ? expression.args : []
  return `{{ ${printGo(inner ?? expression, scope)} | quote }}`
}

/**
 * {{ .Release.Name }}-collector: literal text around parts that cannot break it needs no printf.
 */
function printInline(expression: Expression, scope: Scope): string | undefined {
  const known = harmlessText(expression)
  if (!known || !/^[\w ./:@%+=,-]*$/.test(known.format)) return undefined
  const sample = fill(known, (argument) => (isNumber(argument) ? '1' : 'x'))
  const printed = fill(known, (argument) => `{{ ${printGo(argument, scope)} }}`)
  return isPlain(sample) && sample.length > known.args.length ? printed : `"${printed}"`
}

/**
 * The lines of a text of several lines, for a YAML literal block; undefined where its parts could
 * break it.
 */
export function printBlock(expression: Expression, scope: Scope): readonly string[] | undefined {
  const known = harmlessText(expression)
  if (!known || known.format.includes('{{')) return undefined
  const printed = fill(known, (argument) => `{{ ${printGo(argument, scope)} }}`)
  return literalBlock(printed)
}

interface Text {
  readonly format: string
  readonly args: readonly Expression[]
}

function textOf(expression: Expression): Text | undefined {
  if (expression.op === 'literal' && typeof expression.value === 'string')
    return { format: expression.value.replaceAll('%', '%%'), args: [] }
  if (expression.op !== 'call' || expression.fn !== 'printf') return undefined
  const [format, ...args] = expression.args
  return format?.op === 'literal' && typeof format.value === 'string'
    ? { format: format.value, args }
    : undefined
}

function harmlessText(expression: Expression): Text | undefined {
  if (expression.op === 'literal') return undefined
  const known = textOf(expression)
  return known?.args.every(isHarmless) ? known : undefined
}

/** An expression as text outside of actions, with its parts in place. */
export function printText(expression: Expression, scope: Scope): string {
  const known = textOf(expression)
  // White space at the ends would be trimmed.
  return known && /^\S(?:[^{]*\S)?$/.test(known.format)
    ? fill(known, (argument) => `{{ ${printGo(argument, scope)} }}`)
    : `{{- ${printGo(expression, scope)} -}}`
}

function fill({ format, args }: Text, part: (argument: Expression) => string): string {
  const rest = [...args]
  return format.replace(/%[sv%]/g, (verb) => {
    const [argument] = verb === '%%' ? [] : rest.splice(0, 1)
    return argument ? part(argument) : '%'
  })
}

/** Parts that can only be letters, digits, dots and dashes. */
function isHarmless(expression: Expression): boolean {
  if (expression.op === 'reference')
    return expression.kind === 'number' || expression.path[0] === 'Release'
  if (expression.op === 'helper') return expression.isName ?? isHarmless(expression.body)
  return expression.op === 'call' && ['trunc', 'sha256sum'].includes(expression.fn)
}

const isNumber = (expression: Expression): boolean =>
  expression.op === 'reference' && expression.kind === 'number'

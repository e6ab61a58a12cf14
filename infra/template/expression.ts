import { FUNCTIONS, truthy } from './functions.ts'
import type { FunctionName } from './functions.ts'
import { isObject } from './json.ts'
import type { Json, JsonObject } from './json.ts'

/** The kind of a symbolic value. */
export type Kind = 'string' | 'quantity' | 'number' | 'boolean' | 'map' | 'list'

/** A computation that both readings understand: evaluated for manifests, printed for the chart. */
export type Expression =
  | { readonly op: 'literal'; readonly value: Json }
  | Reference
  | { readonly op: 'item'; readonly key: string }
  | { readonly op: 'call'; readonly fn: FunctionName; readonly args: readonly Expression[] }
  | Helper
  | ChartFile
  | Labels
  | Included

/**
 * A place in what Helm hands to a template, such as `.Values.collector.port` or `.Release.Name`.
 */
export interface Reference {
  readonly op: 'reference'
  readonly path: readonly string[]
  readonly kind: Kind
  /** A text that Helm may hold as a number, because `--set` makes one of digits. */
  readonly mayBeNumber?: true
  /** It may not be there at all. */
  readonly isOptional?: true
  /** A number that Go would print in scientific notation. */
  readonly isLarge?: true
  /** A number that may have a fraction. */
  readonly hasFraction?: true
  /** A place in the parameters of a named template. */
  readonly isParameter?: true
}

/** What is said of a named template, and how templates include it. */
export interface About {
  readonly name: string
  /** Stands above its definition. */
  readonly comment: string
}

/** An expression with a name of its own in `_helpers.tpl`. */
export interface Helper extends About {
  readonly op: 'helper'
  readonly body: Expression
  /** Its text can only be letters, digits and dashes. */
  readonly isName?: true
  /** The body in terms of the parameters, where it has some, and what is given for each. */
  readonly parametrized?: { readonly body: Expression; readonly given: Entries }
}

/** Entries of a map with a name of their own in `_helpers.tpl`. */
export interface Labels extends About {
  readonly op: 'labels'
  readonly entries: Entries
  /** A map whose entries follow. */
  readonly more?: Expression
}

/** The content of a named template as data. */
interface Included {
  readonly op: 'included'
  readonly name: string
  readonly evaluate: (context: Context) => Json
}

/** A file that the chart carries beside its templates. */
interface ChartFile {
  readonly op: 'file'
  /** Its path in the chart. */
  readonly path: string
  readonly content: string
}

/** Expressions by name. */
export type Entries = Readonly<Record<string, Expression>>

/** The contents of `.Values`, `.Release` and `.Chart`. */
export type Context = JsonObject

/**
 * A value that is known only when the chart is installed. It is no string and no number, so
 * comparing or concatenating it with JavaScript's operators does not compile; the operators of
 * `operators.ts` do that in both readings.
 */
export class Val<out T> {
  declare readonly valueType: T
  readonly expression: Expression
  readonly kind: Kind

  constructor(expression: Expression, kind: Kind) {
    this.expression = expression
    this.kind = kind
  }

  [Symbol.toPrimitive](): never {
    throw new Error('a symbolic value cannot become text here: use text`…`, pick() or when()')
  }
}

/** The value of an expression under a context. */
export function evaluate(expression: Expression, context: Context): Json {
  switch (expression.op) {
    case 'literal':
      return expression.value
    case 'reference':
      return lookUp(context, expression)
    case 'item':
      throw new Error(`.${expression.key} has a value only inside a range`)
    case 'call':
      return FUNCTIONS[expression.fn](
        ...expression.args.map((argument) => evaluate(argument, context)),
      )
    case 'helper':
      return evaluate(expression.body, context)
    case 'file':
      return expression.content
    case 'included':
      return expression.evaluate(context)
    case 'labels':
      return Object.fromEntries([
        ...Object.entries(expression.entries).map(([key, entry]) => [
          key,
          evaluate(entry, context),
        ]),
        ...(expression.more ? Object.entries(evaluate(expression.more, context) ?? {}) : []),
      ])
  }
}

/** Tells whether a condition holds under a context. */
export const truthyIn = (condition: Expression, context: Context): boolean =>
  truthy(evaluate(condition, context))

function lookUp(context: Context, { path, isOptional }: Reference): Json {
  let found: Json = context
  for (const key of path) {
    const next: Json | undefined = isJsonObject(found) ? found[key] : undefined
    if (next === undefined && isOptional) return null
    if (next === undefined) throw new Error(`there is no value ${path.join('.')}`)
    found = next
  }
  return found
}

const isJsonObject = (value: Json): value is JsonObject => isObject(value)

/** Tells whether two expressions are the same computation. */
export function same(a: Expression, b: Expression): boolean {
  if (a === b || a.op !== b.op) return a === b
  if (a.op === 'reference' && b.op === a.op)
    return a.path.join('.') === b.path.join('.') && a.isParameter === b.isParameter
  if (a.op === 'call' && b.op === a.op) return a.fn === b.fn && sameList(a.args, b.args)
  if (a.op === 'helper' && b.op === a.op) return sameHelper(a, b)
  return JSON.stringify(a) === JSON.stringify(b)
}

// Two helpers of one name have one definition, but for what they are given.
const sameHelper = (a: Helper, b: Helper): boolean =>
  a.name === b.name && sameList(givenTo(a), givenTo(b))

const givenTo = ({ parametrized }: Helper): readonly Expression[] =>
  Object.values(parametrized?.given ?? {})

const sameList = (a: readonly Expression[], b: readonly Expression[]): boolean =>
  a.length === b.length &&
  a.every((one, index) => {
    const other = b[index]
    return other !== undefined && same(one, other)
  })

/** The expressions that an expression is made of. */
export function operandsOf(expression: Expression): readonly Expression[] {
  switch (expression.op) {
    case 'literal':
    case 'item':
    case 'file':
    case 'included':
    case 'reference':
      return []
    case 'call':
      return expression.args
    case 'helper':
      return [expression.body]
    case 'labels':
      return [...Object.values(expression.entries), ...(expression.more ? [expression.more] : [])]
  }
}

/** Every reference inside an expression. */
export const referencesOf = (expression: Expression): readonly Reference[] =>
  expression.op === 'reference' ? [expression] : operandsOf(expression).flatMap(referencesOf)

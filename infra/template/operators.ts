import { same, Val } from './expression.ts'
import type { Expression, Kind, Reference } from './expression.ts'
import type { FunctionName } from './functions.ts'
import { isObject } from './json.ts'
import type { JsonObject } from './json.ts'
import { isOptional } from './leaves.ts'
import { LARGE } from './schema.ts'
import type { Field, Shape } from './schema.ts'
import type { ValuesOf } from './typed-values.ts'

/** A value that is symbolic or already known. */
export type In<T> = T | Val<T>

/** A condition, with the truth of Go templates. */
export type Condition = Val<boolean>

/** A text, a number or a switch. */
export type Scalar = string | number | boolean

/** An operand as an expression. */
export const lift = (value: In<Scalar>): Expression =>
  value instanceof Val ? value.expression : { op: 'literal', value }

const call = <T>(fn: FunctionName, kind: Kind, args: readonly Expression[]): Val<T> =>
  new Val<T>({ op: 'call', fn, args }, kind)

/** Holds when the value is not empty. */
export const isSet = (value: Val<unknown>): Condition =>
  value.kind === 'boolean'
    ? new Val<boolean>(value.expression, 'boolean')
    : call('isSet', 'boolean', [value.expression])

/** Holds while a condition does not. */
export const not = ({ expression }: Condition): Condition => {
  const [opposite] = expression.op === 'call' && expression.fn === 'not' ? expression.args : []
  return opposite ? new Val(opposite, 'boolean') : call('not', 'boolean', [expression])
}

/** Holds while all conditions do. */
export const all = (...conditions: readonly Condition[]): Condition => join('and', conditions)

/** Holds while one of the conditions does. */
export const any = (...conditions: readonly Condition[]): Condition => join('or', conditions)

function join(fn: 'and' | 'or', conditions: readonly Condition[]): Condition {
  const distinct = conditions
    .map(lift)
    .filter((one, index, every) => every.findIndex((other) => same(other, one)) === index)
  const [only, ...others] = distinct
  return only !== undefined && others.length === 0
    ? new Val<boolean>(only, 'boolean')
    : call(fn, 'boolean', distinct)
}

/** Equality of two texts or of two numbers. */
export const equals = <T extends string | number>(a: Val<T>, b: In<NoInfer<T>>): Condition =>
  call('eq', 'boolean', [lift(a), lift(b)])

/** Holds while a number is above another one. */
export const exceeds = (value: Val<number>, bound: In<number>): Condition =>
  call('gt', 'boolean', [value.expression, lift(bound)])

/** The sum of a number and a fixed one. */
export const plus = (value: Val<number>, more: number): Val<number> =>
  call('add', 'number', [value.expression, lift(more)])

/** Several texts without the empty ones, each once. */
export const distinct = (...texts: readonly Val<string>[]): Val<readonly string[]> => {
  const items: Expression = {
    op: 'call',
    fn: 'list',
    args: texts.map(({ expression }) => expression),
  }
  return call('compact', 'list', [{ op: 'call', fn: 'uniq', args: [items] }])
}

/** The texts that are not empty, with a separator between them. */
export const joined = (separator: string, texts: readonly In<string>[]): Val<string> => {
  const items: Expression = { op: 'call', fn: 'list', args: texts.map(lift) }
  return call('join', 'string', [lift(separator), { op: 'call', fn: 'compact', args: [items] }])
}

/** The value, or the fallback while it is empty. */
export const orElse = (value: Val<string>, fallback: In<string>): Val<string> =>
  call('default', 'string', [lift(fallback), value.expression])

/** One of two texts. */
export const pick = (condition: Condition, yes: In<string>, no: In<string>): Val<string> =>
  call('ternary', 'string', [lift(yes), lift(no), condition.expression])

/** A share in percent, or a number while that is 0. */
export const numberOrShare = (
  number: Val<number>,
  percentage: Val<number>,
): Val<number | string> => {
  const share = text`${percentage}%`.expression
  const args = [share, number.expression, isSet(percentage).expression]
  return call('ternary', 'quantity', args)
}

/** A number as text. */
export const digits = (value: Val<number>): Val<string> =>
  call('toString', 'string', [value.expression])

/** The last component of a path. */
export const base = (path: Val<string>): Val<string> => call('base', 'string', [path.expression])

/** A text with every occurrence of one part replaced. */
export const replace = (old: string, by: string, value: Val<string>): Val<string> =>
  call('replace', 'string', [lift(old), lift(by), value.expression])

/** A text without one suffix. */
export const trimSuffix = (suffix: string, value: Val<string>): Val<string> =>
  call('trimSuffix', 'string', [lift(suffix), value.expression])

/** A text without some characters at both of its ends. */
const trimAll = (cut: string, value: Val<string>): Val<string> =>
  call('trimAll', 'string', [lift(cut), value.expression])

/** Holds while a text matches a pattern, which JavaScript and RE2 must read alike. */
export const matches = (pattern: string, value: Val<string>): Condition =>
  call('regexMatch', 'boolean', [lift(pattern), value.expression])

/** The SHA-256, in hexadecimal, of some values' JSON. */
export const sha256 = (...values: readonly Val<unknown>[]): Val<string> => {
  const items: Expression = {
    op: 'call',
    fn: 'list',
    args: values.map(({ expression }) => asGiven(expression)),
  }
  return call('sha256sum', 'string', [{ op: 'call', fn: 'toJson', args: [items] }])
}

// In JSON, 2 differs from "2", and null from nothing.
function asGiven(expression: Expression): Expression {
  if (expression.op !== 'reference') return expression
  if (expression.mayBeNumber) return { op: 'call', fn: 'toString', args: [expression] }
  if (!expression.isOptional) return expression
  return { op: 'call', fn: 'default', args: [{ op: 'literal', value: '' }, expression] }
}

/** A map as a text of JSON. */
export const asJson = (value: Val<JsonObject>): Val<string> =>
  call('toJson', 'string', [value.expression])

/** The first characters of a text. */
export const shorten = (length: number, value: Val<string>): Val<string> =>
  call('trunc', 'string', [lift(length), value.expression])

/** A text with values in it: text`http://${name}:${port}`. */
export function text(
  parts: TemplateStringsArray,
  ...values: readonly In<string | number>[]
): Val<string> {
  const pieces = values.map(piece)
  const format = parts
    .map((part, index) => part.replaceAll('%', '%%') + (pieces[index]?.format ?? ''))
    .join('')
  return call('printf', 'string', [
    { op: 'literal', value: format },
    ...pieces.flatMap(({ args }) => args),
  ])
}

interface Piece {
  readonly format: string
  readonly args: readonly Expression[]
}

/** A part of a text; a text inside a text becomes part of it. */
function piece(value: In<string | number>): Piece {
  if (!(value instanceof Val)) return { format: String(value).replaceAll('%', '%%'), args: [] }
  const { expression, kind } = value
  const [format, ...args] =
    expression.op === 'call' && expression.fn === 'printf' ? expression.args : []
  return format?.op === 'literal' && typeof format.value === 'string'
    ? { format: format.value, args }
    : { format: kind === 'string' ? '%s' : '%v', args: [expression] }
}

/** The text of a file that the chart carries under a path of its own. */
export const chartFile = (path: string, content: string): Val<string> =>
  new Val({ op: 'file', path, content }, 'string')

/** Holds while an amount is above another one. */
export const isMore = (amount: Val<string>, than: Val<string>): Condition =>
  call('isMore', 'boolean', [amount.expression, than.expression])

/** A text that may be given as a number, as text. */
export const asText = (value: Val<string>): Val<string> =>
  call('toString', 'string', [value.expression])

/** The entries of two maps; those of the first win. */
export const merged = (first: TextMap, second: TextMap): TextMap =>
  // Sprig changes the first of the maps.
  call('merge', 'map', [{ op: 'call', fn: 'dict', args: [] }, first.expression, second.expression])

/** A symbolic map from text to text. */
export type TextMap = Val<Readonly<Record<string, string>>>

/**
 * An amount as text: JSON has a number in full where Go would write 1e+09, and a text in quotes.
 */
export const amountText = (amount: Val<string>): Val<string> =>
  trimAll('"', call('toJson', 'string', [amount.expression]))

/** The SHA-256 of a text, in hexadecimal. */
export const digest = (value: Val<string>): Val<string> =>
  call('sha256sum', 'string', [value.expression])

/** The values, leaf for leaf symbolic. */
export type Symbolic<T> = T extends string
  ? Val<string>
  : T extends Scalar | readonly unknown[]
    ? Val<T>
    : string extends keyof T
      ? Val<T>
      : { readonly [K in keyof T]: Symbolic<T[K]> }

/** Reads every value of a declaration as a reference to `.Values`. */
export function symbolicValues<S extends Shape>(shape: S): Symbolic<ValuesOf<S>> {
  return asSymbolic<ValuesOf<S>>(referTo(shape, ['Values']))
}

function referTo(shape: Shape, path: readonly string[]): Readonly<Record<string, unknown>> {
  const members = Object.entries(shape).map(([key, field]) => [
    key,
    field.kind === 'group' ? referTo(field.shape, [...path, key]) : leaf(field, [...path, key]),
  ])
  return Object.fromEntries(members)
}

/** A group of values as one map. */
export const whole = (group: object): Val<JsonObject> =>
  new Val({ op: 'reference', kind: 'map', ...placeOf(group) }, 'map')

/** The place of a group, whose path is one step shorter than that of each member. */
function placeOf(group: object): Place {
  const places = Object.entries(group).map(([key, member]) => placeAbove(key, member))
  const [place, ...others] = places.map((found) => JSON.stringify(found))
  if (!places[0] || others.some((other) => other !== place))
    throw new Error('only a group of values can be taken as a whole')
  return places[0]
}

type Place = Pick<Reference, 'path' | 'isParameter'>

/** The place of the group in which a member has its key; undefined for a member of none. */
function placeAbove(key: string, member: unknown): Place | undefined {
  const place = isObject(member) ? placeOf(member) : referenceIn(member)
  if (place?.path.at(-1) !== key) return undefined
  const { path, isParameter } = place
  return { path: path.slice(0, -1), ...(isParameter && { isParameter }) }
}

const referenceIn = (member: unknown): Reference | undefined =>
  member instanceof Val && member.expression.op === 'reference' ? member.expression : undefined

function leaf(field: Field, path: readonly string[]): Val<unknown> {
  const kind = kindOf(field)
  const isLoose = field.kind === 'string' && field.digits !== undefined
  return new Val(
    {
      op: 'reference',
      path,
      kind,
      ...(isLoose ? { mayBeNumber: true } : {}),
      ...(isOptional(field) ? { isOptional: true } : {}),
      ...(field.kind === 'integer' && field.hasFraction ? { hasFraction: true } : {}),
      ...(field.kind === 'integer' && field.max >= LARGE ? { isLarge: true } : {}),
    },
    kind,
  )
}

/** The kind of the values of a field. */
function kindOf(field: Field): Kind {
  if (field.kind === 'integer') return 'number'
  if (field.kind === 'texts' || field.kind === 'freeList') return 'list'
  if (field.kind === 'free' || field.kind === 'object' || field.kind === 'group') return 'map'
  return field.kind
}

// `referTo` follows the declaration key by key, which is what `Symbolic<ValuesOf<S>>` says in
// types.
const asSymbolic = <T>(references: Readonly<Record<string, unknown>>): Symbolic<T> =>
  references as Symbolic<T>

/** A value that Helm provides besides `.Values`. */
export const builtIn = (
  path:
    | `Release.${'Name' | 'Namespace' | 'Service'}`
    | `Chart.${'Name' | 'Version' | 'AppVersion'}`,
): Val<string> => new Val({ op: 'reference', path: path.split('.'), kind: 'string' }, 'string')

/** The number of this release, which counts upgrades. */
export const revision: Val<number> = new Val(
  { op: 'reference', path: ['Release', 'Revision'], kind: 'number' },
  'number',
)

import type { ItemRule } from './item-rules.ts'
import type { Json, JsonObject } from './json.ts'

/**
 * The declaration of a chart's values. Types, defaults, validation, `values.yaml`,
 * `values.schema.json` and the README table all come from it.
 */
export type Field =
  | StringField
  | QuantityField
  | IntegerField
  | BooleanField
  | MapField
  | TextsField
  | ObjectField
  | ListField
  | FreeField
  | FreeListField
  | GroupField

/** A field that holds a value. */
export type LeafField = Exclude<Field, GroupField>

/** Named fields, in the order in which readers meet them. */
export type Shape = Readonly<Record<string, Field>>

interface Described {
  readonly doc: string
  /** Null removes the default: then there is no value. */
  readonly isNullable?: true
  /** Members as they are written in YAML, for a value whose default says nothing of them. */
  readonly example?: JsonObject | readonly Json[]
}

/** A text. */
export interface StringField<T extends string = string> extends Described {
  readonly kind: 'string'
  readonly default: T
  /** The only words that are allowed. */
  readonly words?: readonly T[]
  readonly pattern?: RegExp
  /** Texts that are refused although the pattern matches them. */
  readonly except?: RegExp
  /** The pattern in words, completing the phrase "expected …". */
  readonly expected?: string
  /**
   * A whole number within these bounds is accepted too and read as its digits, because `--set`
   * turns digits into numbers.
   */
  readonly digits?: Bounds
}

/** The least and the greatest number, inclusive. */
export interface Bounds {
  readonly min: number
  readonly max: number
}

/** An amount as Kubernetes writes it, such as `500m`, `0.5` or `1Gi`; a text or a number. */
export interface QuantityField extends Described {
  readonly kind: 'quantity'
  /** Null means that there is none. */
  readonly default: string | null
  /** Null removes the default. */
  readonly optional: boolean
  /** Zero is allowed. */
  readonly mayBeZero: boolean
}

/** A number within bounds. */
export interface IntegerField extends Described, Bounds {
  readonly kind: 'integer'
  readonly default: number
  /** It may have a fraction. */
  readonly hasFraction?: true
}

/** A switch. */
export interface BooleanField extends Described {
  readonly kind: 'boolean'
  readonly default: boolean
}

/** A map from text to text. */
export interface MapField extends Described {
  readonly kind: 'map'
  readonly default: Readonly<Record<string, string>>
  /** The rules for keys and for values. */
  readonly key: TextRule
  readonly value: TextRule
}

/** A pattern, and in words what it asks for. */
export interface TextRule {
  readonly pattern: RegExp
  /**
   * Texts that are refused although the pattern matches them: patterns in Helm cannot look ahead.
   */
  readonly except?: RegExp
  readonly expected: string
}

/** Texts that all look alike. */
export interface TextsField extends Described {
  readonly kind: 'texts'
  readonly default: readonly []
  readonly item: TextRule
}

/** Members without defaults, which stay as they are given. */
interface Given<I extends Shape, R extends keyof I> extends Described {
  readonly item: I
  readonly required: readonly R[]
  readonly rules: readonly ItemRule[]
  /** The name of its one definition in `values.schema.json`, for a type that many keys have. */
  readonly name?: string
}

/** A map that Kubernetes itself defines and gets as it is given. */
export interface ObjectField<I extends Shape = Shape, R extends keyof I = keyof I> extends Given<
  I,
  R
> {
  readonly kind: 'object'
  readonly default: JsonObject
}

/** A list of maps that stay as they are given. */
export interface ListField<I extends Shape = Shape, R extends keyof I = keyof I> extends Given<
  I,
  R
> {
  readonly kind: 'list'
  readonly default: readonly []
}

interface Free extends Described, Pick<Given<Shape, string>, 'name' | 'rules'> {
  /** The type in the API of Kubernetes, such as `Container`. */
  readonly type: string
  /** Members that each map must have, by their path, each a text. */
  readonly demands: Readonly<Record<string, TextRule>>
}

/** A map that Kubernetes defines; synth alone knows its members. */
export interface FreeField<T = unknown> extends Free {
  readonly kind: 'free'
  readonly default: JsonObject
  /** Only for the compiler: the type of what is given. */
  readonly given?: T
}

/** A list of such maps. */
export interface FreeListField<T = unknown> extends Free {
  readonly kind: 'freeList'
  readonly default: readonly []
  readonly given?: T
}

/** Fields under one key. */
export interface GroupField<S extends Shape = Shape> extends Described {
  readonly kind: 'group'
  readonly shape: S
  /**
   * Helm hands a parent chart's keys to `global`, so that group tolerates keys it does not know.
   */
  readonly open: boolean
}

type StringOptions = Pick<StringField, 'pattern' | 'except' | 'expected' | 'digits'>

/** A text value. */
export const string = <O extends StringOptions>(
  value: string,
  doc: string,
  options?: O,
): StringField & (O extends Loose ? Loose : unknown) =>
  withOptions({ kind: 'string', default: value, doc }, options)

/** A text that may be given as a number. */
export interface Loose {
  readonly digits: Bounds
}

// A spread of a generic type is typed as less than it is.
const withOptions = <F, O, T>(field: F, options: O): T => ({ ...field, ...options }) as unknown as T

/** One of a closed set of words. */
export const word = <const T extends string>(
  words: readonly T[],
  value: NoInfer<T>,
  doc: string,
): StringField<T> => ({ kind: 'string', words, default: value, doc })

/** A whole number that JSON can hold. */
export const integer = (value: number, doc: string, { min, max }: Bounds): IntegerField => {
  if (!Number.isSafeInteger(max)) throw new Error(`${doc}: ${max} is no bound for an integer`)
  return { kind: 'integer', default: value, doc, min, max }
}

/** The least fraction that Go prints without an exponent. */
const FRACTION_MIN = 0.0001

/** A number that may have a fraction. */
export const decimal = (value: number, doc: string, { min, max }: Bounds): IntegerField => {
  if (min < FRACTION_MIN || max >= LARGE)
    throw new Error(`${doc}: a decimal is from ${FRACTION_MIN} to below ${LARGE}`)
  return { kind: 'integer', default: value, doc, min, max, hasFraction: true }
}

/** A field of which null removes the default. */
export const nullable = <F extends StringField | IntegerField>(field: F): F => ({
  ...field,
  isNullable: true,
})

/** From here on Go prints numbers with an exponent. */
export const LARGE = 1_000_000

/** A TCP port. */
export const port = (value: number, doc: string): IntegerField =>
  integer(value, doc, { min: 1, max: 65_535 })

/** A TCP port on which a program without privileges listens. */
export const podPort = (value: number, doc: string): IntegerField =>
  integer(value, doc, { min: 1024, max: 65_535 })

/** An amount that is always there, and more than nothing. */
export const quantity = (value: string, doc: string): QuantityField => ({
  kind: 'quantity',
  default: value,
  doc,
  optional: false,
  mayBeZero: false,
})

/** An amount that null removes, or that has no default. */
export const optionalQuantity = (value: string | null, doc: string): QuantityField => ({
  kind: 'quantity',
  default: value,
  doc,
  optional: true,
  mayBeZero: true,
})

/** A switch. */
export const boolean = (value: boolean, doc: string): BooleanField => ({
  kind: 'boolean',
  default: value,
  doc,
})

/** A map from text to text. */
export const map = (
  doc: string,
  { key, value, example }: Pick<MapField, 'key' | 'value' | 'example'>,
): MapField => ({ kind: 'map', default: {}, doc, key, value, example })

/** A list of texts. */
export const texts = (doc: string, item: TextRule): TextsField => ({
  kind: 'texts',
  default: [],
  doc,
  item,
})

interface GivenOptions<I extends Shape = Shape> {
  readonly required?: readonly (keyof I & string)[]
  readonly rules?: readonly ItemRule[]
  readonly example?: Described['example']
  readonly name?: string
}

// Asked of the options, so that what a field is used for has no say in it.
type RequiredBy<I, O> = O extends { readonly required: readonly (infer R extends keyof I)[] }
  ? R
  : never

/** A map that Kubernetes itself defines and reads. */
export const object = <I extends Shape, const O extends GivenOptions<I> = GivenOptions<I>>(
  doc: string,
  item: I,
  options?: O,
): ObjectField<I, RequiredBy<I, O>> =>
  withOptions({ kind: 'object', default: {}, doc, item, required: [], rules: [] }, options)

/** A list of objects, which stay as they are given. */
export const list = <I extends Shape, const O extends GivenOptions<I> = GivenOptions<I>>(
  doc: string,
  item: I,
  options?: O,
): ListField<I, RequiredBy<I, O>> =>
  withOptions({ kind: 'list', default: [], doc, item, required: [], rules: [] }, options)

/** A set of fields under one key. */
export const group = <S extends Shape>(doc: string, shape: S): GroupField<S> => ({
  kind: 'group',
  doc,
  shape,
  open: false,
})

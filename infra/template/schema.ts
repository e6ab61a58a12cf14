import type { JsonObject } from './json.ts'

/**
 * The declaration of a chart's values. Types, defaults, validation, `values.yaml`, `values.schema.json` and the README table
 * all come from it.
 */
export type Field =
  | StringField
  | IntegerField
  | BooleanField
  | MapField
  | ObjectField
  | ListField
  | GroupField

/** A field that holds a value. */
export type LeafField = Exclude<Field, GroupField>

/** Named fields, in the order in which readers meet them. */
export type Shape = Readonly<Record<string, Field>>

interface Described {
  readonly doc: string
}

export interface StringField<T extends string = string> extends Described {
  readonly kind: 'string'
  readonly default: T
  /** The only words that are allowed. */
  readonly words?: readonly T[]
  readonly pattern?: RegExp
  /** What the pattern asks for, completing the phrase "expected …". */
  readonly expected?: string
  /** A whole number within these bounds is accepted too and read as its digits, because `--set` turns digits into numbers. */
  readonly digits?: Bounds
}

export interface Bounds {
  readonly min: number
  readonly max: number
}

export interface IntegerField extends Described, Bounds {
  readonly kind: 'integer'
  readonly default: number
}

export interface BooleanField extends Described {
  readonly kind: 'boolean'
  readonly default: boolean
}

export interface MapField extends Described {
  readonly kind: 'map'
  readonly default: Readonly<Record<string, string>>
  /** What a key and what a value looks like. */
  readonly key: TextRule
  readonly value: TextRule
}

/** A pattern, and in words what it asks for. */
export interface TextRule {
  readonly pattern: RegExp
  /** What the pattern lets through and must not be all the same: patterns that Helm reads cannot look ahead. */
  readonly except?: RegExp
  readonly expected: string
}

/** A map of any shape, which Kubernetes gets as it is given. */
export interface ObjectField extends Described {
  readonly kind: 'object'
  readonly default: JsonObject
}

export interface ListField<I extends Shape = Shape, R extends keyof I = keyof I> extends Described {
  readonly kind: 'list'
  readonly default: readonly []
  /** The members of each element; they have no defaults. */
  readonly item: I
  readonly required: readonly R[]
}

export interface GroupField<S extends Shape = Shape> extends Described {
  readonly kind: 'group'
  readonly shape: S
  /** Helm hands a parent chart's keys to `global`, so that group tolerates keys it does not know. */
  readonly open: boolean
}

type StringOptions = Pick<StringField, 'pattern' | 'expected' | 'digits'>

/** A text value. */
export const string = (value: string, doc: string, options: StringOptions = {}): StringField => ({
  kind: 'string',
  default: value,
  doc,
  ...options,
})

/** One of a closed set of words. */
export const word = <const T extends string>(
  words: readonly T[],
  value: NoInfer<T>,
  doc: string,
): StringField<T> => ({ kind: 'string', words, default: value, doc })

/** A whole number. Below a million, so that Go never prints it in scientific notation. */
export const integer = (value: number, doc: string, { min, max }: Bounds): IntegerField => {
  if (max >= 1_000_000) throw new Error(`${doc}: an integer value must stay below a million`)
  return { kind: 'integer', default: value, doc, min, max }
}

/** A TCP port. */
export const port = (value: number, doc: string): IntegerField =>
  integer(value, doc, { min: 1, max: 65_535 })

export const boolean = (value: boolean, doc: string): BooleanField => ({
  kind: 'boolean',
  default: value,
  doc,
})

/** A map from text to text. */
export const map = (doc: string, { key, value }: Pick<MapField, 'key' | 'value'>): MapField => ({
  kind: 'map',
  default: {},
  doc,
  key,
  value,
})

/** A map that Kubernetes itself defines and reads. */
export const object = (doc: string): ObjectField => ({ kind: 'object', default: {}, doc })

/** A list of objects, which stay as they are given. */
export const list = <I extends Shape, const R extends keyof I & string = never>(
  doc: string,
  item: I,
  required: readonly R[] = [],
): ListField<I, R> => ({ kind: 'list', default: [], doc, item, required })

/** A set of fields under one key. */
export const group = <S extends Shape>(doc: string, shape: S): GroupField<S> => ({
  kind: 'group',
  doc,
  shape,
  open: false,
})

/** The values that a shape describes. */
export type ValuesOf<S extends Shape> = { readonly [K in keyof S]: ValueOf<S[K]> }

type ValueOf<F extends Field> =
  F extends GroupField<infer S>
    ? ValuesOf<S>
    : F extends StringField<infer T>
      ? T
      : F extends IntegerField
        ? number
        : F extends BooleanField
          ? boolean
          : F extends ListField<infer I, infer R>
            ? readonly ItemOf<I, R>[]
            : F extends ObjectField
              ? JsonObject
              : Readonly<Record<string, string>>

type ItemOf<I extends Shape, R extends keyof I> = Partial<ValuesOf<I>> & Pick<ValuesOf<I>, R>

/** Values to lay over the defaults: every key optional; whole numbers stand for their digits. */
export type OverridesOf<S extends Shape> = { readonly [K in keyof S]?: OverrideOf<S[K]> | null }

type OverrideOf<F extends Field> = F extends GroupField<infer S> ? OverridesOf<S> : ValueOf<F>

/** A leaf of the declaration, with its full path. */
export interface Leaf {
  readonly path: string
  readonly field: LeafField
}

/** Every key that holds a value, in order. */
export function leavesOf(shape: Shape, prefix = ''): readonly Leaf[] {
  return Object.entries(shape).flatMap(([key, field]) =>
    field.kind === 'group'
      ? leavesOf(field.shape, `${prefix}${key}.`)
      : [{ path: `${prefix}${key}`, field }],
  )
}

import type { Written } from './free.ts'
import type { JsonObject } from './json.ts'
import type {
  BooleanField,
  Field,
  FreeField,
  FreeListField,
  GroupField,
  IntegerField,
  ListField,
  Loose,
  ObjectField,
  QuantityField,
  Shape,
  StringField,
  TextsField,
} from './schema.ts'

/** The values that a shape describes. */
export type ValuesOf<S extends Shape> = { readonly [K in keyof S]: ValueOf<S[K]> }

type ValueOf<F extends Field> =
  F extends GroupField<infer S>
    ? ValuesOf<S>
    : F extends StringField<infer T>
      ? T
      : F extends QuantityField
        ? string
        : F extends IntegerField
          ? number
          : F extends BooleanField
            ? boolean
            : F extends TextsField
              ? readonly string[]
              : F extends ListField<infer I, infer R>
                ? readonly ItemOf<I, R>[]
                : F extends ObjectField | FreeField
                  ? JsonObject
                  : F extends FreeListField
                    ? readonly JsonObject[]
                    : Readonly<Record<string, string>>

type ItemOf<I extends Shape, R extends keyof I> = Partial<ValuesOf<I>> & Pick<ValuesOf<I>, R>

/**
 * Values to lay over the defaults: every key optional; numbers stand for their digits, null
 * removes an amount.
 */
export type OverridesOf<S extends Shape> = { readonly [K in keyof S]?: OverrideOf<S[K]> | null }

type OverrideOf<F extends Field> =
  F extends GroupField<infer S>
    ? OverridesOf<S>
    : F extends ListField
      ? readonly GivenOf<F>[]
      : F extends ObjectField
        ? GivenOf<F>
        : F extends FreeField<infer T>
          ? Partial<Written<T>>
          : F extends FreeListField<infer T>
            ? readonly Written<T>[]
            : F extends Loose | QuantityField
              ? string | number
              : ValueOf<F>

type GivenOf<F extends ListField | ObjectField> = {
  readonly [K in keyof F['item']]?: OverrideOf<F['item'][K]>
} & { readonly [K in F['required'][number]]: OverrideOf<F['item'][K]> }

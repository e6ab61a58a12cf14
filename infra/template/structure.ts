import type { ApiObject, GroupVersionKind } from 'cdk8s'
import type * as k8s from 'cdk8s-plus-34/lib/imports/k8s.js'
import type { Construct } from 'constructs'
import { Val } from './expression.ts'
import type { JsonObject } from './json.ts'
import { isSet } from './operators.ts'
import type { Condition } from './operators.ts'

/** A part of a definition that exists while a condition holds. */
export class When<out T> {
  readonly condition: Condition
  readonly inner: T

  constructor(condition: Condition, inner: T) {
    this.condition = condition
    this.inner = inner
  }
}

/** A list element repeated over a list of values. */
export class Each<out T> {
  readonly over: Val<readonly unknown[]>
  readonly element: (item: (key: string) => Val<string>) => T

  constructor(over: Val<readonly unknown[]>, element: (item: (key: string) => Val<string>) => T) {
    this.over = over
    this.element = element
  }
}

/** A part of a definition with a comment, which templates have above it. */
export class Noted {
  readonly comment: string
  readonly inner: unknown

  constructor(comment: string, inner: unknown) {
    this.comment = comment
    this.inner = inner
  }
}

/** Says something of a part of a definition; the comment is carried into the template. */
// Both readings look for it before they look at what the part is.
export const noted = <T>(comment: string, inner: T): T => new Noted(comment, inner) as unknown as T

/** A symbolic number or text where Kubernetes takes either. */
export class Either {
  readonly value: Val<string | number>

  constructor(value: Val<string | number>) {
    this.value = value
  }
}

/** A map of maps of amounts, such as the resources of a container. */
export class Quantities {
  readonly value: Val<JsonObject>

  constructor(value: Val<JsonObject>) {
    this.value = value
  }
}

/** A field or a list element that exists while a condition holds. */
export const when = <T>(condition: Condition, inner: Exactly<NoInfer<T>>): When<Exactly<T>> =>
  new When(condition, inner)

/** A field that exists while its value is not empty. */
export const whenSet = <T>(value: Val<T>): When<Val<T>> => new When(isSet(value), value)

/** One list element for each element of a list value; `item` reads the members of that element. */
export const each = <T extends object, R>(
  over: Val<readonly T[]>,
  element: (item: (key: keyof T & string) => Val<string>) => Exactly<R>,
): Each<Exactly<R>> => new Each(over, element)

/** One list element for each text of a list. */
export const eachText = <R>(
  over: Val<readonly string[]>,
  element: (item: Val<string>) => Exactly<R>,
): Each<Exactly<R>> => new Each(over, (item) => element(item('')))

/**
 * A field of a Kubernetes type that the operator fills in whole; it exists while it is not empty.
 */
export const whenGiven = <T extends object>(value: Val<JsonObject>): When<Exactly<T>> =>
  new When(isSet(value), asGiven<T>(value))

// Synth reads it through the Kubernetes type and refuses fields that the type does not have.
const asGiven = <T>(value: Val<JsonObject>): Exactly<T> => value as unknown as Exactly<T>

/**
 * The entries of a symbolic map, spread among fixed ones:
 * `{ fixed: 'x', ...spread(values.annotations) }`.
 */
export const spread = (
  entries: Val<Readonly<Record<string, string>>>,
): Record<string, Val<string>> => ({
  [`${SPREAD}${JSON.stringify(entries.expression)}`]: entryOf(entries),
})

const SPREAD = '…'

/** Tells a key that carries a map of entries from one with a single entry. */
export const isSpread = (key: string): boolean => key.startsWith(SPREAD)

// Only the two readings look at the value of a spread key, and they ask `isSpread` first.
const entryOf = (entries: Val<Readonly<Record<string, string>>>): Val<string> =>
  new Val(entries.expression, 'map')

/** A port or a bound that Kubernetes accepts as a number or as text. */
export const intOrString = (value: Val<number | string>): k8s.IntOrString =>
  asOpaque<k8s.IntOrString>(new Either(value))

/** An amount, as Kubernetes types it. */
export const quantity = (value: Val<string>): k8s.Quantity =>
  asOpaque<k8s.Quantity>(new Either(value))

/** The limits and requests of a container, as the values give them. */
export const resources = (value: Val<JsonObject>): k8s.ResourceRequirements =>
  asOpaque<k8s.ResourceRequirements>(new Quantities(value))

// Both readings turn an `Either` into the `{ value }` that the L1 classes read from these two
// types.
const asOpaque = <T>(either: Either | Quantities): T => either as unknown as T

type Opaque = k8s.IntOrString | k8s.Quantity | Date

/** The same, as a whole conditional too. */
export type Templated<T> = Exactly<T> | When<Exactly<T>>

/** A Kubernetes type in which any leaf may be symbolic. */
export type Exactly<T> = T extends string
  ? T | Val<string>
  : T extends number
    ? T | Val<number>
    : T extends boolean
      ? T | Val<boolean>
      : T extends Opaque
        ? T
        : T extends readonly (infer U)[]
          ? readonly (Templated<U> | Each<Exactly<U>>)[] | Val<readonly object[]>
          : T extends object
            ?
                | { readonly [K in keyof T]: Templated<T[K]> }
                | (string extends keyof T ? Val<T> : never)
            : T

interface KubeKind<P> {
  readonly GVK: GroupVersionKind
  new (scope: Construct, id: string, props: P): ApiObject
}

/**
 * Adds one Kubernetes object, with symbolic values allowed anywhere in its properties; its id is
 * its kind.
 */
export function create<P>(
  scope: Construct,
  Kind: KubeKind<P>,
  props: Templated<NoInfer<NonNullable<P>>>,
): ApiObject {
  const object = new Kind(scope, Kind.GVK.kind.toLowerCase(), asPlain<P>(props))
  object.node.addMetadata(DEFINITION, props)
  return object
}

/**
 * Adds one Kubernetes object for each element of a list value; `item` reads the members of that
 * element. Each needs a name of its own.
 */
export function createForEach<T extends object, P>(
  scope: Construct,
  Kind: KubeKind<P>,
  [over, element]: readonly [
    Val<readonly T[]>,
    (item: (key: keyof T & string) => Val<string>) => Templated<NoInfer<NonNullable<P>>>,
  ],
): ApiObject {
  const each = new Each(over, element)
  const object = create(scope, Kind, elementOf(each))
  object.node.addMetadata(REPEATED, each)
  return object
}

/** The element of a range, in terms of the item. */
export const elementOf = <T>({ element }: Each<T>): T =>
  element((key) => new Val({ op: 'item', key }, 'string'))

/** The list over which an object is repeated; undefined for an object that is there once. */
export const repeatedOver = ({ node }: ApiObject): Each<unknown> | undefined =>
  node.metadata
    .filter(({ type }) => type === REPEATED)
    .flatMap(({ data }) => (data instanceof Each ? [data] : []))
    .at(0)

// What cdk8s itself does not need of a construct is in the metadata of its node.
const DEFINITION = 'definition'
const REPEATED = 'repeated'
const GUARD = 'guard'

/** The properties with which an object was created, symbolic as they are. */
export function definitionOf({ node }: ApiObject): unknown {
  const entry = node.metadata.find(({ type }) => type === DEFINITION)
  if (!entry) throw new Error(`${node.path}: objects are made by create()`)
  return entry.data
}

// Both readings replace whatever is symbolic before the L1 classes look at it.
const asPlain = <P>(props: unknown): P => props as P

/** Makes a whole construct, with all that is in it, conditional; without a condition it stays. */
export function onlyWhen<C extends Construct>(condition: Condition | undefined, construct: C): C {
  if (condition) construct.node.addMetadata(GUARD, condition)
  return construct
}

/** The conditions of a construct and of all that it is part of, outermost first. */
export const guardsOf = (construct: Construct): readonly Condition[] =>
  construct.node.scopes.flatMap(({ node }) =>
    node.metadata.flatMap(({ type, data }) =>
      type === GUARD && data instanceof Val ? [data] : [],
    ),
  )

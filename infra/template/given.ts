import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import { Val } from './expression.ts'
import type { JsonObject } from './json.ts'
import { isSet } from './operators.ts'
import { When } from './structure.ts'
import type { Each, Exactly } from './structure.ts'

/** A place at which a free value stands. */
export class FreePart {
  readonly value: Val<unknown>

  constructor(value: Val<unknown>) {
    this.value = value
  }
}

/** A free list as a text of JSON, with each member on a line of its own. */
export const asLines = (value: Val<readonly JsonObject[]>): Val<string> =>
  new Val({ op: 'call', fn: 'toPrettyJson', args: [value.expression] }, 'string')

/** A free value as the whole of a field. */
export class Given extends FreePart {}

/** A field that is there while its free value is not empty. */
export const given = <T>(value: Val<JsonObject> | Val<readonly JsonObject[]>): When<Exactly<T>> =>
  new When(isSet(value), asPart<Exactly<T>>(new Given(value)))

/** The elements of a free list, among others. */
export class Items extends FreePart {}

/** One list element for each element of a free list. */
export const items = <T>(value: Val<readonly JsonObject[]>): Each<Exactly<T>> =>
  asPart<Each<Exactly<T>>>(new Items(value))

/** A free value where it is not empty, and the chart's own part otherwise. */
export class Instead extends FreePart {
  readonly own: unknown

  constructor(value: Val<unknown>, own: unknown) {
    super(value)
    this.own = own
  }
}

/** A part of a definition instead of which a free value stands while there is one. */
export const instead = <T>(value: Val<JsonObject> | Val<readonly JsonObject[]>, own: T): T =>
  asPart<T>(new Instead(value, own))

// Synth reads what is given by the types of Kubernetes, and refuses what these do not have.
const asPart = <T>(node: FreePart): T => node as unknown as T

/** Tells the objects that are given from one of the chart's own. */
export const areGiven = (source: ApiObject): source is GivenObjects =>
  // To `instanceof` every object of cdk8s is one of any class.
  source.constructor === GivenObjects

/** Whole objects that are given, which no type describes. */
export class GivenObjects extends ApiObject {
  readonly value: Val<readonly JsonObject[]>

  constructor(scope: Construct, id: string, value: Val<readonly JsonObject[]>) {
    super(scope, id, { apiVersion: 'v1', kind: 'List' })
    this.value = value
  }
}

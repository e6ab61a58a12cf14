import { implication, isViolated } from './item-rules.ts'
import type { ItemRule } from './item-rules.ts'
import { isObject } from './json.ts'
import type { Json, JsonObject } from './json.ts'
import type { Field, FreeField, FreeListField, TextRule } from './schema.ts'

// Values that Kubernetes defines and that go to it as they are given. Which members they have is
// for synth to say, by the types of Kubernetes; both readings hold them to what can be printed.

type Demands = FreeField['demands']

/** A type of Kubernetes as it is written in YAML: amounts and ports are texts or numbers. */
export type Written<T> = T extends string | number | boolean
  ? T
  : T extends readonly (infer U)[]
    ? readonly Written<U>[]
    : T extends { readonly value: unknown }
      ? keyof T extends 'value'
        ? string | number
        : WrittenMembers<T>
      : WrittenMembers<T>

type WrittenMembers<T> = { readonly [K in keyof T as Spelt<K>]: Written<T[K]> }

// The types spell acronyms as words.
interface Acronyms {
  readonly diskUri: 'diskURI'
  readonly downwardApi: 'downwardAPI'
  readonly pdId: 'pdID'
  readonly targetWwNs: 'targetWWNs'
  readonly volumeId: 'volumeID'
}

type Spelt<K> = K extends keyof Acronyms ? Acronyms[K] : K

interface FreeOptions {
  readonly type: string
  readonly name?: string
  readonly demands?: Demands
  readonly rules?: readonly ItemRule[]
  readonly example: FreeField['example']
}

/** Tells a field whose value Kubernetes defines from one that the chart does. */
export const isFreeField = (field: Field): field is FreeField | FreeListField =>
  field.kind === 'free' || field.kind === 'freeList'

/** A map that goes to Kubernetes as it is given. */
export const free = <T>(
  doc: string,
  { demands = {}, rules = [], ...rest }: FreeOptions,
): FreeField<T> => ({
  kind: 'free',
  default: {},
  doc,
  demands,
  rules,
  ...rest,
})

/** A list of maps that go to Kubernetes as they are given. */
export const freeList = <T>(
  doc: string,
  { demands = {}, rules = [], ...rest }: FreeOptions,
): FreeListField<T> => ({ kind: 'freeList', default: [], doc, demands, rules, ...rest })

// Helm loses a whole map over a character that YAML does not print and over blanks in empty lines
// before a text, and of a text a carriage return and the empty lines at its end.
const CONTROL = String.raw`\x00-\x08\x0b-\x1f\x7f-\x9f`
const PRINTABLE: TextRule = {
  pattern: new RegExp(`^[^${CONTROL}]*$`),
  except: /(^|\n)\n$|^\n* [ \n]*\n/,
  expected:
    'a text without control characters and carriage returns, without blanks in empty lines at ' +
    'its beginning, and without empty lines at its end',
}

/** The units in which a variable may have an amount of a container, by the name of the amount. */
const DIVISORS: readonly { readonly of: RegExp; readonly rule: TextRule }[] = [
  {
    of: /^(limits|requests)\.cpu$/,
    rule: { pattern: /^(0|1m?)$/, expected: '"1" or "1m" as the divisor of CPU' },
  },
  {
    of: /^(limits|requests)\.(memory|ephemeral-storage|hugepages-.+)$/,
    rule: {
      pattern: /^(0|1([kMGTPE]|[KMGTPE]i)?)$/,
      expected: '"1" with a unit or without one, such as "1Mi", as the divisor of bytes',
    },
  },
]

/** A fault in what is given, and where it is. */
interface Fault {
  readonly path: string
  readonly problem: string
}

/** The faults of what is given for a field. */
export function freeFaults(
  field: FreeField | FreeListField,
  given: unknown,
  path: string,
): readonly Fault[] {
  if (field.kind === 'free') return mapFaults(field, given, path)
  if (!Array.isArray(given)) return [{ path, problem: `expected a list, got ${shown(given)}` }]
  return given.flatMap((item: unknown, index) => mapFaults(field, item, `${path}[${index}]`))
}

function mapFaults(
  { demands, rules }: FreeField | FreeListField,
  given: unknown,
  path: string,
): readonly Fault[] {
  if (!isObject(given)) return [{ path, problem: `expected a map, got ${shown(given)}` }]
  const demanded = Object.entries(demands).flatMap(([member, rule]) => {
    const value = member.split('.').reduce<unknown>(memberOf, given)
    if (typeof value === 'string' && fits(rule, value)) return []
    const problem = value === undefined ? 'is required' : `got ${shown(value)}`
    return [{ path: `${path}.${member}`, problem: `${problem}: expected ${rule.expected}` }]
  })
  const broken = rules
    .filter((rule) => isViolated(rule, given))
    .map(({ needs, message }) => ({ path: `${path}.${needs.member}`, problem: message }))
  return [...demanded, ...broken, ...dataFaults(given, path)]
}

const memberOf = (map: unknown, key: string): unknown => (isObject(map) ? map[key] : undefined)

function dataFaults(given: unknown, path: string): readonly Fault[] {
  if (Array.isArray(given))
    return given.flatMap((item: unknown, index) => dataFaults(item, `${path}[${index}]`))
  if (isObject(given)) {
    return Object.entries(given).flatMap(([key, value]) => [
      ...textFaults(key, `${path}, as a key`),
      ...(key === 'resourceFieldRef' ? divisorFaults(value, `${path}.${key}`) : []),
      ...dataFaults(value, `${path}.${key}`),
    ])
  }
  if (typeof given === 'string') return textFaults(given, path)
  if (typeof given === 'boolean' || isPlainNumber(given)) return []
  return [
    {
      path,
      problem: `expected a text, a number, true, false, a map or a list, got ${shown(given)}`,
    },
  ]
}

function divisorFaults(given: unknown, path: string): readonly Fault[] {
  const [resource, divisor] = ['resource', 'divisor'].map((key) => memberOf(given, key))
  if (divisor === undefined) return []
  const written = typeof divisor === 'string' ? divisor : shown(divisor)
  return DIVISORS.filter(({ of, rule }) => of.test(String(resource)) && !fits(rule, written)).map(
    ({ rule: { expected } }) => ({
      path: `${path}.divisor`,
      problem: `expected ${expected}, got ${shown(divisor)}`,
    }),
  )
}

const textFaults = (text: string, path: string): readonly Fault[] =>
  fits(PRINTABLE, text)
    ? []
    : [{ path, problem: `expected ${PRINTABLE.expected}, got ${shown(text)}` }]

const fits = ({ pattern, except }: TextRule, text: string): boolean =>
  pattern.test(text) && !except?.test(text)

const isPlainNumber = (value: unknown): boolean =>
  typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER

const shown = (value: unknown): string => JSON.stringify(value) ?? String(value)

const textSchema = ({ pattern, except }: TextRule): JsonObject => ({
  pattern: pattern.source,
  ...(except ? { not: { type: 'string', pattern: except.source } } : {}),
})

const divisors: JsonObject = {
  allOf: [
    { $ref: '#/definitions/data' },
    ...DIVISORS.map(({ of, rule }) => ({
      if: {
        required: ['resource'],
        properties: { resource: { type: 'string', pattern: of.source } },
      },
      // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema calls it so
      then: {
        properties: { divisor: { ...textSchema(rule), minimum: 0, maximum: 1, multipleOf: 1 } },
      },
    })),
  ],
}

/** The definition of plain data in `values.schema.json`, to which the others refer. */
export const FREE_DATA: JsonObject = {
  type: ['string', 'number', 'boolean', 'object', 'array'],
  ...textSchema(PRINTABLE),
  minimum: -Number.MAX_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  propertyNames: textSchema(PRINTABLE),
  patternProperties: { '^resourceFieldRef$': divisors },
  additionalProperties: { $ref: '#/definitions/data' },
  items: { $ref: '#/definitions/data' },
}

/** What `values.schema.json` says of a field: a reference to the definition of its type. */
export function freeSchema(field: FreeField | FreeListField): JsonObject {
  const map = { allOf: [{ $ref: `#/definitions/${definitionOfType(field)}` }] }
  return field.kind === 'free' ? map : { type: 'array', items: map }
}

/** The name of the definition of the type of a field. */
export const definitionOfType = ({ name, type }: FreeField | FreeListField): string => name ?? type

/** The definition of the type of a field. */
export const typeSchema = ({ demands, rules }: FreeField | FreeListField): JsonObject => ({
  allOf: [
    { $ref: '#/definitions/data' },
    { type: 'object' },
    ...Object.entries(demands).map(demand),
    ...rules.map(implication),
  ],
})

function demand([path, rule]: readonly [string, TextRule]): JsonObject {
  const text: JsonObject = { type: 'string', ...textSchema(rule) }
  return path.split('.').reduceRight<JsonObject>((inner, key) => {
    const member: JsonObject = { required: [key], properties: { [key]: inner } }
    return { allOf: [{ type: 'object' }, member] }
  }, text)
}

/** What is given, as the classes of Kubernetes' types read it. */
export function asProps(given: Json): unknown {
  if (Array.isArray(given)) return given.map(asProps)
  if (!isObject(given)) return new Leaf(given)
  const props: Record<string, unknown> = {}
  Object.defineProperty(props, FREE, { value: true })
  for (const [key, value] of Object.entries(given)) {
    props[key] = asProps(value)
    const other = respelt(key)
    if (other !== key) Object.defineProperty(props, other, { value: props[key] })
  }
  return props
}

const FREE = Symbol('free')

/** Tells whether a map is as `asProps` makes it. */
export const isFree = (map: object): boolean => FREE in map

/**
 * A scalar that is given. The classes read an amount as the `value` of an object, and everything
 * else as it is: this is both.
 */
export class Leaf {
  readonly value: Json

  constructor(value: Json) {
    this.value = value
  }
}

/** The scalars of a manifest without what was around them. */
export function withoutLeaves(node: unknown): unknown {
  if (node instanceof Leaf) return node.value
  if (Array.isArray(node)) return node.map(withoutLeaves)
  if (!isObject(node)) return node
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, withoutLeaves(value)]))
}

/** A key as the classes spell it, which know no acronyms: `volumeID` is `volumeId` there. */
const respelt = (key: string): string =>
  key.replaceAll(
    /[A-Z]{2,}(?![a-z])|[A-Z]{2,}(?=[A-Z][a-z])/g,
    (letters) => `${letters.charAt(0)}${letters.slice(1).toLowerCase()}`,
  )

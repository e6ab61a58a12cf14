import { freeFaults, isFreeField } from './free.ts'
import { isViolated } from './item-rules.ts'
import { isObject } from './json.ts'
import type { Json, JsonObject } from './json.ts'
import type {
  Bounds,
  Field,
  FreeField,
  FreeListField,
  GroupField,
  IntegerField,
  LeafField,
  ListField,
  MapField,
  ObjectField,
  QuantityField,
  Shape,
  StringField,
  TextRule,
  TextsField,
} from './schema.ts'
import { isOptional } from './leaves.ts'
import { LEAST, MOST, QUANTITY, ZERO } from './quantity.ts'
import { hintFor } from './spelling.ts'

/** A value that is not allowed. */
interface Mistake {
  /** The full path of the key. */
  readonly path: string
  readonly problem: string
}

interface Checked {
  /** The values with their defaults; the default replaces a mistake. */
  readonly values: JsonObject
  readonly mistakes: readonly Mistake[]
}

/** Fills in the defaults and checks every key; reports all mistakes, not the first. */
export function checkValues(shape: Shape, overrides: unknown): Checked {
  const checker = new Checker()
  const values = checker.group({ shape, open: false }, overrides, 'values')
  return { values, mistakes: checker.mistakes }
}

/** A value as a person would write it. */
export const show = (value: unknown): string => JSON.stringify(value) ?? String(value)

/** The value of a key, for a message; of texts under `secrets` their length only. */
export const showAt = (path: string, value: unknown): string =>
  path.startsWith('secrets.') && typeof value === 'string'
    ? `${value.length} characters`
    : show(value)

class Checker {
  readonly mistakes: Mistake[] = []

  group(
    { shape, open }: Pick<GroupField, 'shape' | 'open'>,
    given: unknown,
    path: string,
  ): JsonObject {
    if (!isObject(given)) this.expected('a map', given, path)
    const members = isObject(given) ? given : {}
    const prefix = path === 'values' ? '' : `${path}.`
    if (!open) this.unknownKeys(shape, members, prefix)
    const values = Object.entries(shape).map(([key, field]): readonly [string, Json] => [
      key,
      Object.hasOwn(members, key)
        ? this.field(field, members[key], `${prefix}${key}`)
        : this.absent(field, `${prefix}${key}`),
    ])
    return Object.fromEntries(values.filter(([, value]) => value !== null))
  }

  private absent(field: Field, path: string): Json {
    return field.kind === 'group' ? this.group(field, {}, path) : field.default
  }

  private field(field: Field, given: unknown, path: string): Json {
    if (given === null) return this.nothing(field, path)
    if (isFreeField(field)) return this.free(field, given, path)
    switch (field.kind) {
      case 'group':
        return this.group(field, given, path)
      case 'map':
        return this.map(field, given, path)
      case 'list':
        return this.list(field, given, path)
      case 'texts':
        return this.texts(field, given, path)
      case 'object':
        return this.item(field, given, path)
      case 'string':
      case 'quantity':
      case 'integer':
      case 'boolean':
        return this.whole(field, given, path)
    }
  }

  private whole(field: WholeField, given: unknown, path: string): Json {
    return accept(field, given) ?? this.refused(field, given, path) ?? field.default
  }

  private nothing(field: Field, path: string): Json {
    if (!isOptional(field)) {
      this.mistake(path, 'null removes the default, and the chart needs a value here')
      return this.absent(field, path)
    }
    if (field.kind === 'quantity' && field.default === null)
      this.mistake(path, 'null is no value here; leave the key out')
    return null
  }

  private refused(field: WholeField, given: unknown, path: string): undefined {
    const what = expectation(field)
    if (field.kind === 'string') return this.expectedText(what, given, path)
    return this.expected(what, given, path)
  }

  private map(field: MapField, given: unknown, path: string): Json {
    if (!isObject(given)) return this.expected(expectation(field), given, path) ?? field.default
    return Object.fromEntries(
      Object.entries(given).map(([key, value]) => {
        if (!fits(field.key, key)) this.expected(`${field.key.expected} as a key`, key, path)
        const isText = typeof value === 'string' && fits(field.value, value)
        return [
          key,
          isText ? value : (this.expectedText(field.value.expected, value, `${path}.${key}`) ?? ''),
        ]
      }),
    )
  }

  private list(field: ListField, given: unknown, path: string): Json {
    if (!Array.isArray(given))
      return this.expected(expectation(field), given, path) ?? field.default
    return given.map((item: unknown, index) => this.item(field, item, `${path}[${index}]`))
  }

  private texts({ item }: TextsField, given: unknown, path: string): Json {
    if (!Array.isArray(given)) return this.expected('a list of strings', given, path) ?? []
    return given.map((text: unknown, index) => {
      if (typeof text === 'string' && fits(item, text)) return text
      return this.expected(item.expected, text, `${path}[${index}]`) ?? ''
    })
  }

  private item(field: ListField | ObjectField, given: unknown, path: string): JsonObject {
    const { item: shape, required, rules } = field
    if (!isObject(given)) return this.expected('a map', given, path) ?? {}
    this.unknownKeys(shape, given, `${path}.`)
    for (const key of required.filter((name) => !Object.hasOwn(given, name))) {
      this.mistake(`${path}.${key}`, 'is required')
    }
    for (const { needs, message } of rules.filter((rule) => isViolated(rule, given))) {
      this.mistake(`${path}.${needs.member}`, message)
    }
    const present = Object.entries(shape).filter(([key]) => Object.hasOwn(given, key))
    return Object.fromEntries(
      present.map(([key, member]) => [key, this.member(member, given[key], `${path}.${key}`)]),
    )
  }

  private member(field: Field, given: unknown, path: string): Json {
    if (given !== null) return this.field(field, given, path)
    this.mistake(path, 'null is no value here; leave the key out')
    return this.absent(field, path)
  }

  private free(field: FreeField | FreeListField, given: unknown, path: string): Json {
    const faults = freeFaults(field, given, path)
    for (const { path: place, problem } of faults) this.mistake(place, problem)
    return faults.length > 0 ? field.default : asData(given)
  }

  private unknownKeys(shape: Shape, given: object, prefix: string): void {
    const known = Object.keys(shape)
    for (const key of Object.keys(given).filter((one) => !known.includes(one))) {
      this.mistake(`${prefix}${key}`, `unknown key; ${hintFor(key, known)}`)
    }
  }

  private expected(what: string, given: unknown, path: string): undefined {
    this.mistake(path, `expected ${what}, got ${showAt(path, given)}`)
  }

  /** Notes a value that should be a text: without quotes, YAML and `--set` read some as others. */
  private expectedText(what: string, given: unknown, path: string): undefined {
    const isBare = typeof given === 'number' || typeof given === 'boolean'
    const hint = isBare ? '; write it in quotes, or use --set-string' : ''
    this.mistake(path, `expected ${what}, got ${showAt(path, given)}${hint}`)
  }

  private mistake(path: string, problem: string): void {
    this.mistakes.push({ path, problem })
  }
}

const fits = ({ pattern, except }: TextRule, text: string): boolean =>
  pattern.test(text) && !except?.test(text)

// `freeFaults` has found nothing else in it.
const asData = (given: unknown): Json => given as Json

type WholeField = Extract<
  LeafField,
  { readonly kind: 'string' | 'quantity' | 'integer' | 'boolean' }
>

/**
 * The value that a field without members makes of what was given, or undefined when it allows no
 * such thing.
 */
function accept(field: WholeField, given: unknown): Json | undefined {
  switch (field.kind) {
    case 'boolean':
      return typeof given === 'boolean' ? given : undefined
    case 'integer':
      return isWithin(given, field, field.hasFraction) ? given : undefined
    case 'quantity':
      return isQuantity(given) && (field.mayBeZero || !ZERO.test(`${given}`)) ? given : undefined
    case 'string':
      return field.digits && isWithin(given, field.digits)
        ? String(given)
        : acceptText(field, given)
  }
}

function acceptText(field: StringField, given: unknown): string | undefined {
  const { words, pattern, except } = field
  if (typeof given !== 'string' || except?.test(given)) return undefined
  const isAllowed = words?.includes(given) ?? pattern?.test(given) ?? true
  return isAllowed ? given : undefined
}

const isQuantity = (value: unknown): value is string | number =>
  typeof value === 'number'
    ? value >= LEAST && value <= MOST
    : typeof value === 'string' && QUANTITY.test(value)

const isWithin = (value: unknown, { min, max }: Bounds, hasFraction = false): value is number =>
  typeof value === 'number' &&
  (hasFraction || Number.isInteger(value)) &&
  value >= min &&
  value <= max

/** Describes the values that a field allows, completing the phrase "expected …". */
export function expectation(field: Exclude<Field, GroupField>): string {
  switch (field.kind) {
    case 'integer':
      return expectedNumber(field)
    case 'quantity':
      return expectedAmount(field)
    case 'string':
      return expectedText(field)
    case 'boolean':
    case 'map':
    case 'texts':
    case 'object':
    case 'list':
      return ALLOWED[field.kind]
    case 'free':
      return `a ${field.type} of Kubernetes`
    case 'freeList':
      return `a list of ${field.type} of Kubernetes`
  }
}

const ALLOWED = {
  boolean: 'true or false',
  map: 'a map of strings',
  texts: 'a list of strings',
  object: 'a map',
  list: 'a list',
}

const expectedNumber = ({ hasFraction, isNullable, min, max }: IntegerField): string =>
  `a ${hasFraction ? 'number' : 'whole number'} between ${min} and ${max}` +
  (isNullable ? ', or null for none' : '')

const expectedAmount = (field: QuantityField): string =>
  'a quantity such as "500m", 0.5 or "1Gi"' +
  (field.optional && field.default !== null ? ', or null for none' : '')

function expectedText({ words = [], expected = 'a string' }: StringField): string {
  const [only, ...others] = words
  if (only === undefined) return expected
  return others.length === 0
    ? `${show(only)}, the only value that is supported`
    : `one of ${[only, ...others].map(show).join(', ')}`
}

import { isObject } from './json.ts'
import type { Json, JsonObject } from './json.ts'
import type {
  Bounds,
  Field,
  GroupField,
  LeafField,
  ListField,
  MapField,
  Shape,
  StringField,
  TextRule,
} from './schema.ts'
import { closest } from './spelling.ts'

export interface Mistake {
  /** The full path of the key. */
  readonly path: string
  readonly problem: string
}

export interface Checked {
  /** The values with their defaults; where there is a mistake, the default stands in. */
  readonly values: JsonObject
  readonly mistakes: readonly Mistake[]
}

/** Fills in the defaults and checks every key; reports all mistakes, not the first. */
export function checkValues(shape: Shape, overrides: unknown): Checked {
  const checker = new Checker()
  const values = checker.group(shape, overrides, 'values')
  return { values, mistakes: checker.mistakes }
}

/** A value as a person would write it. */
export const show = (value: unknown): string => JSON.stringify(value) ?? String(value)

/** The value of a key, for a message; what stands under `secrets` stays secret. */
export const showAt = (path: string, value: unknown): string =>
  path.startsWith('secrets.') && typeof value === 'string'
    ? `${value.length} characters`
    : show(value)

class Checker {
  readonly mistakes: Mistake[] = []

  group(shape: Shape, given: unknown, path: string): JsonObject {
    if (!isObject(given)) this.expected('a map', given, path)
    const members = isObject(given) ? given : {}
    const prefix = path === 'values' ? '' : `${path}.`
    this.unknownKeys(shape, members, prefix)
    return Object.fromEntries(
      Object.entries(shape).map(([key, field]) => [
        key,
        key in members
          ? this.field(field, members[key], `${prefix}${key}`)
          : this.absent(field, `${prefix}${key}`),
      ]),
    )
  }

  private absent(field: Field, path: string): Json {
    return field.kind === 'group' ? this.group(field.shape, {}, path) : field.default
  }

  private field(field: Field, given: unknown, path: string): Json {
    if (given === null) {
      this.mistake(path, 'null removes the default, and the chart needs a value here')
      return this.absent(field, path)
    }
    switch (field.kind) {
      case 'group':
        return this.group(field.shape, given, path)
      case 'map':
        return this.map(field, given, path)
      case 'list':
        return this.list(field, given, path)
      case 'object':
      case 'string':
      case 'integer':
      case 'boolean':
        return (
          accept(field, given) ?? this.expected(expectation(field), given, path) ?? field.default
        )
    }
  }

  private map(field: MapField, given: unknown, path: string): Json {
    if (!isObject(given)) return this.expected(expectation(field), given, path) ?? field.default
    return Object.fromEntries(
      Object.entries(given).map(([key, value]) => {
        if (!fits(field.key, key)) this.expected(`${field.key.expected} as a key`, key, path)
        const isText = typeof value === 'string' && fits(field.value, value)
        return [
          key,
          isText ? value : (this.expected(field.value.expected, value, `${path}.${key}`) ?? ''),
        ]
      }),
    )
  }

  private list(field: ListField, given: unknown, path: string): Json {
    if (!Array.isArray(given))
      return this.expected(expectation(field), given, path) ?? field.default
    return given.map((item: unknown, index) => this.item(field, item, `${path}[${index}]`))
  }

  private item({ item: shape, required }: ListField, given: unknown, path: string): JsonObject {
    if (!isObject(given)) return this.expected('a map', given, path) ?? {}
    this.unknownKeys(shape, given, `${path}.`)
    for (const key of required.filter((name) => !(name in given))) {
      this.mistake(`${path}.${key}`, 'is required')
    }
    const present = Object.entries(shape).filter(([key]) => key in given)
    return Object.fromEntries(
      present.map(([key, field]) => [key, this.field(field, given[key], `${path}.${key}`)]),
    )
  }

  private unknownKeys(shape: Shape, given: object, prefix: string): void {
    const known = Object.keys(shape)
    for (const key of Object.keys(given).filter((one) => !known.includes(one))) {
      const near = closest(key, known)
      const hint =
        near === undefined ? `known keys: ${known.join(', ')}` : `did you mean "${near}"?`
      this.mistake(`${prefix}${key}`, `unknown key; ${hint}`)
    }
  }

  private expected(what: string, given: unknown, path: string): undefined {
    this.mistake(path, `expected ${what}, got ${showAt(path, given)}`)
  }

  private mistake(path: string, problem: string): void {
    this.mistakes.push({ path, problem })
  }
}

const fits = ({ pattern, except }: TextRule, text: string): boolean =>
  pattern.test(text) && !except?.test(text)

// Values come from YAML, JSON or a module of plain data; Kubernetes answers for what is inside this one.
const isJsonObject = (value: unknown): value is JsonObject => isObject(value)

type WholeField = Exclude<LeafField, MapField | ListField>

/** The value that a field without members makes of what was given, or undefined when it allows no such thing. */
function accept(field: WholeField, given: unknown): Json | undefined {
  switch (field.kind) {
    case 'object':
      return isJsonObject(given) ? given : undefined
    case 'boolean':
      return typeof given === 'boolean' ? given : undefined
    case 'integer':
      return isWithin(given, field) ? given : undefined
    case 'string':
      return field.digits && isWithin(given, field.digits)
        ? String(given)
        : acceptText(field, given)
  }
}

function acceptText({ words, pattern }: StringField, given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined
  const isAllowed = words?.includes(given) ?? pattern?.test(given) ?? true
  return isAllowed ? given : undefined
}

const isWithin = (value: unknown, { min, max }: Bounds): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max

/** What a field allows, completing the phrase "expected …". */
export function expectation(field: Exclude<Field, GroupField>): string {
  switch (field.kind) {
    case 'boolean':
      return 'true or false'
    case 'integer':
      return `a whole number between ${field.min} and ${field.max}`
    case 'map':
      return 'a map of strings'
    case 'object':
      return 'a map'
    case 'list':
      return 'a list'
    case 'string': {
      const [only, ...others] = field.words ?? []
      if (only === undefined) return field.expected ?? 'a string'
      return others.length === 0
        ? `${show(only)}, the only value that is supported`
        : `one of ${[only, ...others].map(show).join(', ')}`
    }
  }
}

import * as v from 'valibot'
import { closedObject } from '../../shared/describe-issue.ts'
import { isObject } from '../../shared/is-object.ts'
import { oneOf, textUpTo, trueOrFalse } from '../../shared/schemas.ts'
import { inputText } from './input-text.ts'

/** The inputs of a run, by name. */
export type Inputs = Readonly<Record<string, unknown>>

/** The types of JSON Schema that an input may declare. */
export const JSON_TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array'] as const
/** The types that an input may declare: those of JSON, and a file that was sent before. */
export const INPUT_TYPES = [...JSON_TYPES, 'file'] as const
/** The declared type of an input. */
export type InputType = (typeof INPUT_TYPES)[number]

const name = v.pipe(
  v.string('must be a name, or an object with a name'),
  v.regex(
    /^[A-Za-z_]\w{0,63}$/,
    'must start with a letter or _ and hold at most 64 letters, digits and _',
  ),
)

const CHOICES_MAX = 100

const choices = v.pipe(
  v.array(v.unknown(), 'must be a list'),
  v.minLength(1, 'must not be empty'),
  v.maxLength(CHOICES_MAX, `must have at most ${CHOICES_MAX} values`),
  v.check(
    (list) => list.every((value) => typeof value !== 'string' || value.trim() !== ''),
    'must not have an empty text; an input that may be left out has required: false',
  ),
  // A form and a model see the text of a value: 1 and "1" are the same to them.
  v.check(
    (list) => new Set(list.map(inputText)).size === list.length,
    'must not have two values that read the same',
  ),
)

const declaration = v.pipe(
  closedObject({
    name,
    /** @default whatever JSON has but null */
    type: v.optional(oneOf(INPUT_TYPES)),
    label: v.optional(textUpTo(200)),
    description: v.optional(textUpTo(2000)),
    /** The value for a run that is started without it. */
    default: v.optional(v.unknown()),
    /** The values that it may have. */
    enum: v.optional(choices),
    /** @default true, unless there is a `default` */
    required: v.optional(trueOrFalse),
  }),
  v.check(
    ({ type, default: value, enum: choices }) =>
      type !== 'file' || (value === undefined && choices === undefined),
    'a file can have neither a default nor an enum',
  ),
  v.check(
    ({ default: value, type }) => value === undefined || hasType(value, type),
    'default must be of the type of its input',
  ),
  v.check(
    ({ enum: values = [], type }) => values.every((value) => hasType(value, type)),
    'enum must have values of the type of its input only, and no null',
  ),
  v.check(
    ({ default: value, enum: values }) => value === undefined || isChoice(value, values),
    'default must be one of enum',
  ),
)
/** An input as a crew definition declares it. */
export type InputDeclaration = v.InferOutput<typeof declaration>

/** A list of names, of declarations, or of both. */
export const inputDeclarations = v.pipe(
  v.array(
    v.lazy((input) => (typeof input === 'object' && input !== null ? declaration : name)),
    'must be a list',
  ),
  v.maxLength(100, 'must have at most 100 entries'),
  v.check((list) => new Set(list.map(nameOf)).size === list.length, 'must have unique names'),
)

/** Returns the name of a declared input. */
export const nameOf = (declared: string | InputDeclaration): string =>
  typeof declared === 'string' ? declared : declared.name

/** Checks that a value is one of those that are allowed; without a list, any is. */
export const isChoice = (value: unknown, values: readonly unknown[] | undefined): boolean =>
  values === undefined ||
  values.some((each) => typeof each === typeof value && inputText(each) === inputText(value))

/**
 * Returns the id of the file that a value names: `{"file_id": "…"}`, as the answer to an upload has
 * it, or the id alone. Undefined for anything else.
 */
export function fileIdOf(value: unknown): string | undefined {
  const id = isObject(value) ? value['file_id'] : value
  return typeof id === 'string' && UUID.test(id) ? id.toLowerCase() : undefined
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** Checks that a JSON value is of a type; without a type, that it is not null. */
export function hasType(value: unknown, type: InputType | undefined): boolean {
  if (value === null || value === undefined) return false
  switch (type) {
    case undefined:
      return true
    case 'integer':
      return Number.isSafeInteger(value)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && !Array.isArray(value)
    case 'file':
      return fileIdOf(value) !== undefined
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
  }
}

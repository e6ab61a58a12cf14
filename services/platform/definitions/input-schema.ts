import type { InputField } from './crew-inputs.ts'
import { JSON_TYPES } from './input-declarations.ts'
import type { InputType, Inputs } from './input-declarations.ts'

/** The JSON Schema of the inputs of a run: what `resolveInputs` accepts. */
export const inputsSchema = (fields: readonly InputField[]) => ({
  type: 'object',
  additionalProperties: false,
  required: fields
    .filter(({ required, default: value }) => required && value === undefined)
    .map(({ name }) => name),
  properties: Object.fromEntries(fields.map((field) => [field.name, schemaOf(field)])),
})

function schemaOf({
  type,
  label,
  description,
  default: value,
  enum: choices,
  required,
}: InputField) {
  return {
    ...(label === undefined ? {} : { title: label }),
    ...(description === undefined ? {} : { description }),
    ...typeOf(type),
    ...(required && (type ?? 'string') === 'string' ? { pattern: '\\S' } : {}),
    ...(choices === undefined ? {} : { enum: choices }),
    ...(value === undefined ? {} : { default: value }),
  }
}

function typeOf(type: InputType | undefined) {
  // Generators of clients leave out what may be an array without items.
  if (type === undefined)
    return { type: JSON_TYPES.filter((each) => each !== 'integer'), items: {} }
  if (type === 'file') return FILE
  if (type !== 'integer') return { type }
  return { type, minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }
}

const FILE = {
  type: 'object',
  required: ['file_id'],
  properties: { file_id: { type: 'string', format: 'uuid' } },
}

/** Inputs of a run for a reader to fill in: defaults, first choices, and values of each type. */
export const exampleInputs = (fields: readonly InputField[]): Inputs =>
  Object.fromEntries(
    fields.map(({ name, type, default: value, enum: [choice] = [] }) => [
      name,
      value ?? choice ?? EXAMPLES[type ?? 'string'],
    ]),
  )

/**
 * Proposes inputs for a reader to change: of those that are required or have a default the default,
 * the first choice, or an empty value of its type.
 */
export const proposedInputs = (fields: readonly InputField[]): Inputs =>
  Object.fromEntries(
    fields
      .filter(({ required, default: value }) => required || value !== undefined)
      .map(({ name, type = 'string', default: value, enum: [choice] = [] }) => [
        name,
        value ?? choice ?? EMPTY[type],
      ]),
  )

const EMPTY: Readonly<Record<InputType, unknown>> = {
  string: '',
  number: 0,
  integer: 0,
  boolean: false,
  object: {},
  array: [],
  file: '',
}

const EXAMPLES: Readonly<Record<InputType, unknown>> = {
  string: '…',
  number: 1.5,
  integer: 1,
  boolean: true,
  object: {},
  array: [],
  file: { file_id: '00000000-0000-0000-0000-000000000000' },
}

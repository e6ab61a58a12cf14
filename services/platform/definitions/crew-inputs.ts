import { didYouMean } from '../../shared/closest.ts'
import { AppError } from '../../shared/errors.ts'
import { parseStrictJson } from '../../shared/http/strict-json.ts'
import { placesOf } from './crew-definition.ts'
import type { CrewDefinition } from './crew-definition.ts'
import { hasType, isChoice, nameOf } from './input-declarations.ts'
import type { InputDeclaration, InputType, Inputs } from './input-declarations.ts'
import { inputText } from './input-text.ts'
import { isOwnCrew } from './own-crew-definition.ts'

/** An input as callers and forms see it. */
export interface InputField {
  readonly name: string
  /** Absent: whatever JSON has but null. */
  readonly type?: InputType | undefined
  readonly label?: string | undefined
  readonly description?: string | undefined
  readonly default?: unknown
  /** Absent: every value of its type. */
  readonly enum?: readonly unknown[] | undefined
  readonly required: boolean
}

/** The inputs of a crew: those it declares, then those that only its texts have a place for. */
export function inputFields(definition: CrewDefinition): InputField[] {
  const declared = definition.inputs ?? []
  const names = new Set(declared.map(nameOf))
  const others = placesOf(definition).filter((name) => !names.has(name))
  return [...declared, ...others].map(toField)
}

function toField(declared: string | InputDeclaration): InputField {
  if (typeof declared === 'string') return { name: declared, required: true }
  const { required, ...facts } = declared
  return { ...facts, required: required ?? facts.default === undefined }
}

/** The names of the inputs of a crew. */
export const inputNames = (definition: CrewDefinition): string[] =>
  inputFields(definition).map(({ name }) => name)

/**
 * The inputs of a run: those given, checked, with defaults for those that are not; one that is
 * neither given, nor required, nor has a default is the empty text. A crew that is made from a
 * source has its defaults itself, may take others than it names, and gets what was given. Raises
 * `unprocessable` with `details.missing_inputs`, `unknown_inputs` and `invalid_inputs`.
 */
export const resolveInputs = (definition: CrewDefinition, given: Inputs): Inputs =>
  createInputResolver(definition)(given)

/** Creates what resolves the inputs of many runs of one crew, as `resolveInputs` does. */
export function createInputResolver(definition: CrewDefinition): (given: Inputs) => Inputs {
  const fields = inputFields(definition)
  const isOpen = isOwnCrew(definition)
  return function resolve(given) {
    refuseWrongInputs(fields, given, { isOpen })
    if (isOpen) return { ...given }
    const known = fields.map(({ name, default: value = '' }) => [
      name,
      Object.hasOwn(given, name) ? given[name] : value,
    ])
    return Object.fromEntries(known)
  }
}

/**
 * The inputs of an earlier run, to be given again: what is empty because nobody gave it is left
 * out, for the empty text may be of another type than the input.
 */
export function givenAgain(definition: CrewDefinition, inputs: Inputs): Inputs {
  const optional = inputFields(definition)
    .filter(({ required, default: value }) => !required && value === undefined)
    .map(({ name }) => name)
  return Object.fromEntries(
    Object.entries(inputs).filter(([name, value]) => value !== '' || !optional.includes(name)),
  )
}

function refuseWrongInputs(
  fields: readonly InputField[],
  given: Inputs,
  { isOpen }: { readonly isOpen: boolean },
): void {
  const names = fields.map(({ name }) => name)
  const isGiven = (name: string): boolean => Object.hasOwn(given, name)
  const missing = fields
    .filter(
      ({ name, required, default: value }) => required && value === undefined && !isGiven(name),
    )
    .map(({ name }) => name)
  const unknown = isOpen ? [] : Object.keys(given).filter((name) => !names.includes(name))
  const invalid = fields.flatMap((field) => {
    const problem = isGiven(field.name) ? problemOf(field, given[field.name]) : undefined
    return problem === undefined ? [] : [{ name: field.name, problem }]
  })
  const problems = [
    ...(missing.length > 0 ? [describeMissing(missing)] : []),
    ...unknown.slice(0, 20).map((name) => describeUnknown(name, names)),
    ...invalid.map(({ name, problem }) => `${name} ${problem}.`),
  ]
  if (problems.length === 0) return
  throw new AppError('unprocessable', problems.join(' '), {
    details: {
      ...(missing.length > 0 ? { missing_inputs: missing } : {}),
      ...(unknown.length > 0 ? { unknown_inputs: unknown } : {}),
      ...(invalid.length > 0 ? { invalid_inputs: invalid } : {}),
    },
  })
}

/**
 * Checks that inputs which were resolved before are all there, as a crew does. Raises
 * `unprocessable` with `details.missing_inputs`.
 */
export function requireInputs(names: readonly string[], given: Inputs): void {
  const missing = names.filter((name) => !Object.hasOwn(given, name))
  if (missing.length === 0) return
  const details = { missing_inputs: missing }
  throw new AppError('unprocessable', describeMissing(missing), { details })
}

const describeMissing = (missing: readonly string[]): string =>
  `These inputs are missing: ${missing.join(', ')}.`

function describeUnknown(name: string, names: readonly string[]): string {
  const known =
    names.length === 0 ? 'This automation has no inputs.' : `Known: ${names.join(', ')}.`
  const shown = JSON.stringify(name.slice(0, 64))
  return `The input ${shown} is not known.${didYouMean(name, names)} ${known}`
}

/** The problem with a value, ready to follow the name of its input. */
function problemOf(field: InputField, value: unknown): string | undefined {
  const { type, required, enum: choices } = field
  if (value === null) return 'must not be null; leave it out instead'
  if (!hasType(value, type)) return `must be ${WORDS[type ?? 'string']}`
  if (choices && !isChoice(value, choices)) return `must be ${describeChoices(choices)}`
  if (typeof value !== 'string') return undefined
  if (value.includes('\0')) return 'holds a character that cannot be stored'
  return required && value.trim() === '' ? 'must not be empty' : undefined
}

const CHOICES_SHOWN = 20
const CHOICE_CHARACTERS_SHOWN = 80

function describeChoices(choices: readonly unknown[]): string {
  const shown = choices
    .slice(0, CHOICES_SHOWN)
    .map((choice) => JSON.stringify(choice).slice(0, CHOICE_CHARACTERS_SHOWN))
  const left = choices.length - shown.length
  const more = left > 0 ? ` and ${left} more` : ''
  return `${shown.length === 1 ? '' : 'one of '}${shown.join(', ')}${more}`
}

const WORDS: Readonly<Record<InputType, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  file: 'a file that was sent to this automation, {"file_id": "…"}',
}

/**
 * The inputs that a form has sent, as text, each read as the type of its field. An empty text
 * counts as not given, unless it is required; what cannot be read stays text, so that
 * `resolveInputs` refuses it.
 */
export function readInputTexts(
  fields: readonly InputField[],
  textOf: (name: string) => string,
): Inputs {
  const entries = fields.flatMap((field) => {
    const text = textOf(field.name)
    return text.trim() === '' && !field.required
      ? []
      : [[field.name, readText(text, field)] as const]
  })
  return Object.fromEntries(entries)
}

function readText(text: string, { type, enum: choices = [] }: InputField): unknown {
  const choice = choices.find((each) => inputText(each) === text)
  if (choice !== undefined) return choice
  if (type === undefined || type === 'string') return text
  try {
    return parseStrictJson(Buffer.from(text), 'The input')
  } catch {
    return text
  }
}

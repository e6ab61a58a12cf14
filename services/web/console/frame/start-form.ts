import type { CrewDefinition } from '../../../platform/crew-definition.ts'
import { inputFields, readInputTexts, resolveInputs } from '../../../platform/crew-inputs.ts'
import { inputText } from '../../../platform/input-text.ts'
import type { Inputs } from '../../../platform/runs.ts'
import { AppError } from '../../../shared/errors.ts'

const INPUT_PREFIX = 'input.'

/** A run that a form asks for. */
export interface SentForm {
  /** The texts that were typed, by the name of the input. */
  readonly texts: Readonly<Record<string, string>>
  readonly inputs: Inputs
  /** The first problem with it, as the page says it. */
  readonly problem?: string
}

/** Reads the form that starts a run, with the first problem in it. */
export function readStartForm(form: URLSearchParams, definition: CrewDefinition): SentForm {
  const fields = inputFields(definition)
  const texts = Object.fromEntries(
    fields.map(({ name }) => [name, form.get(INPUT_PREFIX + name) ?? '']),
  )
  const problem = unknownProblem(form, texts)
  if (problem !== undefined) return { texts, inputs: {}, problem }
  try {
    const given = readInputTexts(fields, (name) => texts[name] ?? '')
    return { texts, inputs: resolveInputs(definition, given) }
  } catch (thrown) {
    if (thrown instanceof AppError) return { texts, inputs: {}, problem: thrown.message }
    throw thrown
  }
}

/** Returns the inputs of a run as the texts of its form; a model reads the same either way. */
export const toTexts = (inputs: Inputs): Record<string, string> =>
  Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, inputText(value)]))

function unknownProblem(
  form: URLSearchParams,
  texts: Readonly<Record<string, string>>,
): string | undefined {
  const unknown = [...form.keys()]
    .filter((field) => field.startsWith(INPUT_PREFIX))
    .map((field) => field.slice(INPUT_PREFIX.length))
    .filter((name) => !Object.hasOwn(texts, name))
  if (unknown.length === 0) return undefined
  return (
    `This automation has no input ${unknown.join(', ')}. It may have changed since this page was ` +
    'loaded: check the fields below and start again.'
  )
}

import type { Automation } from '../../../platform/automations/automations.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import { inputFields, readInputTexts } from '../../../platform/definitions/crew-inputs.ts'
import { inputText } from '../../../platform/definitions/input-text.ts'
import { prepareInputs } from '../../../platform/runs/prepare-inputs.ts'
import type { PreparedInputs } from '../../../platform/runs/prepare-inputs.ts'
import type { Inputs } from '../../../platform/definitions/input-declarations.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'

/** Stands before the names of inputs in the fields of a form. */
export const INPUT_PREFIX = 'input.'

/** A run that a form asks for. */
export interface SentForm {
  /** The texts that were typed, by the name of the input. */
  readonly texts: Readonly<Record<string, string>>
  readonly prepared: PreparedInputs
  /** The first problem with it, as the page says it. */
  readonly problem?: string
}

interface GivenForm {
  readonly form: URLSearchParams
  readonly automation: Automation
  readonly definition: CrewDefinition
  /** The problem with a file that it brought. */
  readonly fileProblem?: string | undefined
}

const NOTHING: PreparedInputs = { inputs: {}, files: [] }

/** Reads the form that starts a run, with the first problem in it. */
export async function readStartForm(
  sql: Database,
  { form, automation, definition, fileProblem }: GivenForm,
): Promise<SentForm> {
  const fields = inputFields(definition)
  const texts = Object.fromEntries(
    fields.map(({ name }) => [name, form.get(INPUT_PREFIX + name) ?? '']),
  )
  const problem = unknownProblem(form, texts) ?? fileProblem
  if (problem !== undefined) return { texts, prepared: NOTHING, problem }
  try {
    const inputs = readInputTexts(fields, (name) => texts[name] ?? '')
    return { texts, prepared: await prepareInputs(sql, { automation, definition, inputs }) }
  } catch (thrown) {
    if (thrown instanceof AppError) return { texts, prepared: NOTHING, problem: thrown.message }
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

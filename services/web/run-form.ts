import { createHash } from 'node:crypto'
import { isUuid } from '../platform/deployments.ts'
import type { Inputs } from '../platform/executions.ts'

const INPUT_PREFIX = 'input.'

/** The inputs that a form carries, for the names that the automation asks for. */
export const readInputs = (
  form: URLSearchParams,
  names: readonly string[],
): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, form.get(INPUT_PREFIX + name) ?? '']))

/** The inputs of a run as the texts of its form: what a model reads of them is the same. */
export const toTexts = (inputs: Inputs): Record<string, string> =>
  Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )

/** The first thing that is wrong with the inputs of a form, in words for whoever filled it in. */
export function inputsProblem(
  form: URLSearchParams,
  inputs: Readonly<Record<string, string>>,
): string | undefined {
  const unknown = [...form.keys()]
    .filter((field) => field.startsWith(INPUT_PREFIX))
    .map((field) => field.slice(INPUT_PREFIX.length))
    .filter((name) => !Object.hasOwn(inputs, name))
  if (unknown.length > 0) {
    return `This automation has no input ${unknown.join(', ')}. It may have changed since this page was loaded: check the fields below and start again.`
  }
  const empty = Object.keys(inputs).filter((name) => !inputs[name]?.trim())
  if (empty.length > 0) return `Fill in ${empty.join(', ')}.`
  const bad = Object.keys(inputs).filter((name) => inputs[name]?.includes('\0'))
  return bad.length > 0 ? `${bad.join(', ')}: remove the NUL character.` : undefined
}

/** A form that is sent twice, by a double click, starts one run; one that is filled in anew starts another. */
export function startOnceKey(formId: string | null, inputs: Inputs): string | undefined {
  if (!formId || !isUuid(formId)) return undefined
  const hash = createHash('sha256').update(JSON.stringify(inputs)).digest('hex')
  return `form-${formId}-${hash}`
}

import { inputFields } from '../../definitions/crew-inputs.ts'
import type { CrewDefinition } from '../../definitions/crew-definition.ts'
import { isObject } from '../../../shared/is-object.ts'
import { kindOf } from './fields.ts'
import type { Field } from './fields.ts'
import type { Place, Report } from './report.ts'

/** What CrewAI fills in. */
const PLACE = /\{([A-Za-z_][A-Za-z0-9_-]*)\}/g
const NAME = /^[A-Za-z_]\w{0,63}$/

/** Reports placeholders that CrewAI fills in, and the platform would not. */
export function checkPlaceholders(text: string, place: Place, report: Report): void {
  for (const [, name = ''] of text.matchAll(PLACE)) {
    if (NAME.test(name)) continue
    const better = name.replaceAll('-', '_').slice(0, 64)
    report.refuse(
      place,
      `The placeholder {${name.slice(0, 100)}} must have at most 64 letters, digits and _. ` +
        `Rename it, such as to {${better}}.`,
    )
  }
}

/** An input with a value for runs that have none. */
interface ImportedInput {
  readonly name: string
  readonly default?: unknown
}

/** Reads the default values of inputs. */
export function readInputs(field: Field | undefined, report: Report): ImportedInput[] {
  if (!field || field.value === null || field.value === undefined) return []
  const { file, key, value } = field
  if (!isObject(value)) {
    report.refuse(field, `This must hold names with values; it is ${kindOf(value)}.`)
    return []
  }
  return Object.entries(value).flatMap(([name, given]) => {
    const place = { file, key: `${key}.${name}` }
    if (!NAME.test(name)) {
      report.refuse(place, 'The name of an input has at most 64 letters, digits and _.')
      return []
    }
    return [{ name, ...(given === null ? {} : { default: given }) }]
  })
}

/** Says which values a run needs. */
export function reportInputs(definition: CrewDefinition, file: string, report: Report): void {
  const needed = inputFields(definition).filter(({ required }) => required)
  if (needed.length === 0) return
  const names = needed.map(({ name }) => name).join(', ')
  report.note({ file, key: '' }, `Runs need values for these inputs: ${names}.`)
}

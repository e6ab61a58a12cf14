import { didYouMean } from '../../../shared/closest.ts'
import { isObject } from '../../../shared/is-object.ts'
import { PYTHON } from './report.ts'
import type { Place, Report } from './report.ts'

/** A value of a project, and where it stands. */
export interface Field extends Place {
  readonly value: unknown
}

/** The keys of an agent, a task or a crew. */
export type Fields = ReadonlyMap<string, Field>

/** An agent or a task of a project. */
export interface Part extends Place {
  /** Its name in the project. */
  readonly name: string
  readonly fields: Fields
}

/** Returns the members of an object as fields. */
export const fieldsOf = (object: Readonly<Record<string, unknown>>, { file, key }: Place): Fields =>
  new Map(
    Object.entries(object).map(([name, value]) => [
      name,
      { value, file, key: key === '' ? name : `${key}.${name}` },
    ]),
  )

/** Python code where a value is expected: `{"python": "module.attribute"}`. */
export const isPython = (value: unknown): value is { readonly python: unknown } =>
  isObject(value) && Object.hasOwn(value, 'python')

/** Returns true for what says the same as a missing key. */
export const isOff = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0)

/**
 * What becomes of a key: it is taken over, it is left out and matters, which for some is always
 * code, or it is left out and does not matter.
 */
export type Rule =
  | 'taken'
  | { readonly leftOut: string }
  | { readonly code: string }
  | { readonly note: string }

/** Reports each key that is not taken over. */
export function checkKeys(
  fields: Fields,
  rules: Readonly<Record<string, Rule>>,
  report: Report,
): void {
  for (const [name, field] of fields) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule === 'taken' || (rule && isOff(field.value))) continue
    if (!rule) {
      const near = didYouMean(name, Object.keys(rules))
      report.leaveOut(field, `The key ${name.slice(0, 64)} is not known.${near}`)
    } else if ('code' in rule) report.leaveOut(field, rule.code)
    else if (isPython(field.value)) report.leaveOut(field, PYTHON)
    else if ('leftOut' in rule) report.leaveOut(field, rule.leftOut)
    else report.note(field, rule.note)
  }
}

/** Returns a text without the spaces at its end; undefined, and reported, for anything else. */
export function readText(field: Field | undefined, report: Report): string | undefined {
  if (field === undefined || field.value === null || field.value === '') return undefined
  if (typeof field.value === 'string') return field.value.trimEnd()
  if (isPython(field.value)) report.refuse(field, PYTHON)
  else report.refuse(field, `This must be a text; it is ${kindOf(field.value)}.`)
  return undefined
}

/** Returns a text that has to be there. */
export function requireText(part: Part, name: string, report: Report): string {
  const text = readText(part.fields.get(name), report)
  if (text !== undefined && text !== '') return text
  const place = part.fields.get(name) ?? { file: part.file, key: part.key }
  report.refuse(place, `${part.name} needs a text for ${name}.`)
  return ''
}

/** Returns true or false; undefined, and reported, for anything else. */
export function readFlag(field: Field | undefined, report: Report): boolean | undefined {
  if (field === undefined || field.value === null) return undefined
  if (typeof field.value === 'boolean') return field.value
  report.refuse(field, `This must be true or false; it is ${kindOf(field.value)}.`)
  return undefined
}

/** Returns a number; undefined, and reported, for anything else. */
export function readNumber(field: Field | undefined, report: Report): number | undefined {
  if (field === undefined || field.value === null) return undefined
  if (typeof field.value === 'number') return field.value
  report.refuse(field, `This must be a number; it is ${kindOf(field.value)}.`)
  return undefined
}

/** Returns the entries of a list as fields; undefined when it is missing or no list. */
export function readList(field: Field | undefined, report: Report): Field[] | undefined {
  if (field === undefined || field.value === null) return undefined
  const { file, key, value } = field
  if (Array.isArray(value)) {
    return value.map((each: unknown, index) => ({ file, key: `${key}[${index}]`, value: each }))
  }
  if (isPython(value)) report.leaveOut(field, PYTHON)
  else report.refuse(field, `This must be a list; it is ${kindOf(value)}.`)
  return undefined
}

/** Names the kind of a value, for a message. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Date) return 'a date: put it in quotes'
  return KINDS[typeof value] ?? 'something else'
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number: put it in quotes',
  boolean: 'true or false: put it in quotes',
  object: 'an object',
}

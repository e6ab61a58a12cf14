import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'
import { describeIssue, parseBody } from '../http/parse-body.ts'
import type { Declaration, Fact, Fields, Identified, Values } from './declaration.ts'

/** The part of a declaration that says what values are. */
type OfValues<Given, Of extends Fields> = {
  readonly fields: Of
  readonly values: (given: Given) => Values<Of>
}

/** Reads the values of a JSON body. Raises `unprocessable` with each problem. */
export const readBody = <Of extends Fields>(
  { fields }: { readonly fields: Of },
  body: unknown,
): Values<Of> => parseBody(v.strictObject(fields), body)

/** Reads the values of a form that was typed. Raises `unprocessable` with each problem. */
export function readForm<Of extends Fields>(
  { fields }: { readonly fields: Of },
  typed: URLSearchParams,
): Values<Of> {
  const given = Object.entries(fields).flatMap(([name, { look }]) => {
    const value = look.control.read(typed, name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const result = v.safeParse(v.strictObject(fields), Object.fromEntries(given))
  if (result.success) {
    refuseNulIn(fields, typed)
    return result.output
  }
  const problems = result.issues.map((issue) => {
    const [name = '', ...place] = (v.getDotPath(issue) ?? '').split('.')
    const label = [fields[name]?.look.label ?? name, ...place].join('.')
    return `${label} ${describeIssue(issue)}.`
  })
  throw new AppError('unprocessable', problems.join(' '))
}

/** Refuses what no JSON of the API has, and no text of the database (`unprocessable`). */
function refuseNulIn(fields: Fields, typed: URLSearchParams): void {
  for (const [part, value] of typed) {
    if (!value.includes('\0')) continue
    const label = fields[part.replace(/\..*/s, '')]?.look.label ?? part
    throw new AppError('unprocessable', `${label} must have no control characters.`)
  }
}

/** Returns the values that fields have by themselves. */
export const defaultsOf = (fields: Fields): object => v.getDefaults(v.strictObject(fields))

/** Returns values as their form shows them. */
export const typedOf = (fields: Fields, values: object): URLSearchParams => {
  const known = new Map(Object.entries(values))
  return new URLSearchParams(
    Object.entries(fields).flatMap(([name, { look }]) => {
      const value = known.get(name) ?? undefined
      return value === undefined ? [] : look.control.write(name, value).map(([...pair]) => pair)
    }),
  )
}

/** Puts the fixed values of a row into a form, which does not show them. */
export function withFixed<Given, Of extends Fields>(
  { fields, values }: OfValues<Given, Of>,
  typed: URLSearchParams,
  row: Given,
): URLSearchParams {
  const fixed = Object.entries(fields).filter(([, { look }]) => look.isFixed)
  const kept = typedOf(Object.fromEntries(fixed), values(row))
  return new URLSearchParams([...kept, ...typed])
}

/** Refuses a change of what is fixed (`unprocessable`). */
export function requireFixed<Given, Of extends Fields>(
  { fields, values }: OfValues<Given, Of>,
  given: Values<Of>,
  row: Given,
): void {
  const [before, after] = [values(row), given].map((each) => new Map(Object.entries(each)))
  const moved = Object.entries(fields)
    .filter(([name, { look }]) => look.isFixed && before?.get(name) !== after?.get(name))
    .map(([name]) => `${name} cannot change`)
  if (moved.length === 0) return
  const message = `The body is not valid: ${moved.join('; ')}.`
  throw new AppError('unprocessable', message, { details: { problems: moved } })
}

/** Returns the fields of a row for the answers of the API: all but secrets. */
export const shownValues = <Given>(
  { fields, values }: OfValues<Given, Fields>,
  row: Given,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(values(row)).filter(([name]) => !fields[name]?.look.control.isSecret),
  )

/** Returns the version of a row: another one once a field has changed that is no secret. */
export const versionOf = <Given>(of: OfValues<Given, Fields>, row: Given): string =>
  createHash('sha256')
    .update(JSON.stringify(shownValues(of, row)))
    .digest('base64url')

/** Returns a row as the API answers it: without secrets. */
export function documentOf<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
  owner: Owner,
  row: Row,
): Record<string, unknown> {
  const { under, facts } = declaration
  return {
    id: row.id,
    version: versionOf(declaration, row),
    ...valuesOf(under.facts, owner),
    ...shownValues(declaration, row),
    ...valuesOf(facts, row),
  }
}

/** Reads facts of what has them. */
export const valuesOf = <Of>(
  facts: Readonly<Record<string, Fact<Of>>>,
  of: Of,
): Record<string, unknown> =>
  Object.fromEntries(Object.entries(facts).map(([name, [, read]]) => [name, read(of)]))

/** Returns what the audit records of values: of secrets only that they were entered. */
export const factsOf = <Given>({ fields, values }: OfValues<Given, Fields>, given: Given): object =>
  Object.assign(
    {},
    ...Object.entries(values(given)).map(([name, value]) => {
      const look = fields[name]?.look
      if (look?.facts) return look.facts(value)
      if (look?.control.isSecret) return value === undefined ? {} : { [name]: 'entered' }
      return { [name]: value }
    }),
  )

import { Validator } from '@cfworker/json-schema'
import type { OutputUnit, Schema } from '@cfworker/json-schema'
import { callBounded } from './bounded-call.ts'
import { toError } from './errors.ts'

/** A schema or a text that takes longer is hostile: `pattern` and `allOf` can take for ever. */
const CHECK_MS = 1000
const PROBLEMS_MAX = 10
const UNUSABLE = 'the schema cannot be used'

/** A JSON Schema that is an object. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * Returns the problems of a value under a JSON Schema (2020-12, or the draft that `$schema` names),
 * at most ten, each with its place; none when it is valid. A schema that cannot be used, and one
 * that takes longer than a second, is a problem too.
 */
export function problemsUnder(schema: JsonSchema, value: unknown): string[] {
  try {
    return callBounded(CHECK_MS, () => {
      const { valid, errors } = new Validator(schema as Schema, draftOf(schema), false).validate(
        value,
      )
      return valid ? [] : describe(errors)
    })
  } catch (thrown) {
    const [reason = ''] = toError(thrown)
      .message.replace(/^Error: /, '')
      .split('\n')
    return [`${UNUSABLE}: ${reason.replace(/ {2}Absolute URI.*/, '')}`]
  }
}

/** Returns why a schema cannot be used, such as a reference in circles; undefined if it can. */
export const schemaProblem = (schema: JsonSchema): string | undefined =>
  problemsUnder(schema, {}).find((each) => each.startsWith(UNUSABLE))

function draftOf({ $schema }: JsonSchema) {
  const text = typeof $schema === 'string' ? $schema : ''
  if (text.includes('draft-04')) return '4'
  if (text.includes('draft-06') || text.includes('draft-07')) return '7'
  return text.includes('2019-09') ? '2019-09' : '2020-12'
}

/** Says of each place what is wrong there, and not again of all that surround it. */
function describe(errors: readonly OutputUnit[]): string[] {
  const leaves = errors.filter(
    ({ keyword, instanceLocation: at }) =>
      keyword !== 'false' &&
      (!SURROUNDING.has(keyword) ||
        !errors.some((other) => other.instanceLocation.startsWith(`${at}/`))),
  )
  const said = leaves.map(({ instanceLocation, error }) => {
    const place = instanceLocation.replace(/^#\/?/, '')
    return place === '' ? error : `${place}: ${error}`
  })
  return [...new Set(said)].slice(0, PROBLEMS_MAX)
}

const SURROUNDING = new Set(['properties', 'items', 'prefixItems', 'allOf', '$ref'])

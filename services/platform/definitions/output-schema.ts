import * as v from 'valibot'
import { isObject } from '../../shared/is-object.ts'
import type { JsonSchema } from '../../shared/json-schema.ts'

const CHARACTERS_MAX = 32_768
const DEPTH_MAX = 40
const PROBLEMS_MAX = 5

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']

type Kind = keyof typeof PROBLEM_OF | 'schema' | 'list' | 'map'

/** What the values of keywords have to be. Others, such as `examples`, are left to the models. */
const KEYWORDS_OF: readonly (readonly [kind: Kind, keywords: string])[] = [
  [
    'schema',
    'additionalItems additionalProperties contains else if items not propertyNames then ' +
      'unevaluatedItems unevaluatedProperties',
  ],
  ['list', 'allOf anyOf oneOf prefixItems'],
  ['map', '$defs definitions dependentSchemas patternProperties properties'],
  ['type', 'type'],
  ['values', 'enum'],
  ['names', 'required'],
  ['pattern', 'pattern'],
  ['reference', '$ref'],
  ['refused', '$id $dynamicRef $recursiveRef'],
  ['number', 'exclusiveMaximum exclusiveMinimum maximum minimum multipleOf'],
  ['count', 'maxItems maxLength maxProperties minItems minLength minProperties'],
  ['boolean', 'uniqueItems'],
]
const KEYWORDS: ReadonlyMap<string, Kind> = new Map(
  KEYWORDS_OF.flatMap(([kind, keywords]) =>
    keywords.split(' ').map((keyword) => [keyword, kind] as const),
  ),
)

const isText = (value: unknown): value is string => typeof value === 'string'
const unless = (holds: boolean, problem: string) => (holds ? undefined : problem)

const PROBLEM_OF = {
  type: (value: unknown) =>
    unless(
      [value].flat().length > 0 &&
        [value].flat().every((each) => isText(each) && TYPES.includes(each)),
      `must be one or more of ${TYPES.join(', ')}`,
    ),
  values: (value: unknown) =>
    unless(Array.isArray(value) && value.length > 0, 'must be a list with a value'),
  names: (value: unknown) =>
    unless(Array.isArray(value) && value.every(isText), 'must be a list of names'),
  pattern: (value: unknown) =>
    unless(isText(value) && isPattern(value), 'must be a regular expression'),
  reference: (value: unknown) =>
    unless(
      isText(value) && /^#(\/|$)/.test(value),
      'must name a part of the same schema, such as #/$defs/item; others are not read',
    ),
  refused: () => 'is not taken; leave it out',
  number: (value: unknown) => unless(typeof value === 'number', 'must be a number'),
  count: (value: unknown) =>
    unless(Number.isInteger(value) && Number(value) >= 0, 'must be a whole number'),
  boolean: (value: unknown) => unless(typeof value === 'boolean', 'must be true or false'),
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp
  } catch {
    return false
  }
}

/** A JSON Schema that an answer of a model can be checked with. */
export const outputSchema = v.pipe(
  v.custom<JsonSchema>(isObject, 'must be a JSON Schema, which is an object'),
  v.rawCheck(({ dataset, addIssue }) => {
    const found = dataset.typed ? problemsOf(dataset.value) : []
    for (const message of found) addIssue({ message })
  }),
)

function problemsOf(schema: JsonSchema): string[] {
  if (!isShallow(schema, DEPTH_MAX)) return [`is nested more than ${DEPTH_MAX} levels deep`]
  const text = JSON.stringify(schema)
  if (text.length > CHARACTERS_MAX) {
    return [`has ${text.length} characters, and ${CHARACTERS_MAX} are allowed`]
  }
  if (/\\u(0000|d[89a-f])/i.test(text)) return ['has characters that cannot be stored']
  const parts: Parts = new Map()
  const problems = visit(schema, '#', parts)
  return (problems.length > 0 ? problems : referenceProblems(parts)).slice(0, PROBLEMS_MAX)
}

const isShallow = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1)))

/** The parts of a schema by their places, each with those that are about the same value as it. */
type Parts = Map<string, string[]>

const SAME_VALUE = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'])

/** Returns the problems of a part of the schema, and notes it and its parts. */
function visit(schema: unknown, place: string, parts: Parts): string[] {
  const same: string[] = []
  parts.set(place, same)
  if (typeof schema === 'boolean') return []
  if (!isObject(schema)) return [`${place} must be a schema`]
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const at = `${place}/${escape(keyword)}`
    const kind = KEYWORDS.get(keyword)
    if (kind === undefined) return []
    if (kind === 'reference' && isText(value)) same.push(targetOf(value))
    if (kind !== 'schema' && kind !== 'list' && kind !== 'map') {
      const problem = PROBLEM_OF[kind](value)
      return problem === undefined ? [] : [`${at} ${problem}`]
    }
    const inner = innerOf(kind, value)
    if (!inner) return [`${at} must be ${kind === 'map' ? 'an object' : 'a list'} of schemas`]
    const children = inner.map(([key, child]) => [key === '' ? at : `${at}/${key}`, child] as const)
    if (SAME_VALUE.has(keyword)) same.push(...children.map(([childPlace]) => childPlace))
    return children.flatMap(([childPlace, child]) => visit(child, childPlace, parts))
  })
}

/** The schemas that a keyword holds, by their keys below it; undefined if it holds none. */
function innerOf(kind: 'schema' | 'list' | 'map', value: unknown): [string, unknown][] | undefined {
  if (kind === 'map') {
    const entries = isObject(value) ? Object.entries(value) : undefined
    return entries?.map(([key, each]) => [escape(key), each])
  }
  if (kind === 'schema' && !Array.isArray(value)) return [['', value]]
  return Array.isArray(value) && value.length > 0
    ? value.map((each: unknown, index) => [String(index), each])
    : undefined
}

const escape = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

function targetOf(reference: string): string {
  try {
    return decodeURIComponent(reference.replace(/\/$/, ''))
  } catch {
    return reference
  }
}

/** References that lead nowhere, and those that come back to where they began. */
function referenceProblems(parts: Parts): string[] {
  const done = new Map<string, boolean>()
  function check(place: string): string[] {
    if (done.get(place) === false) return [`${place} refers to itself, and never ends`]
    if (done.get(place)) return []
    done.set(place, false)
    const problems = (parts.get(place) ?? []).flatMap((target) =>
      parts.has(target) ? check(target) : [`${place}/$ref: there is no ${target}`],
    )
    done.set(place, true)
    return problems
  }
  return [...parts.keys()].flatMap(check)
}

import { JSONPathQuery, jsonpath } from 'json-p3'
import * as v from 'valibot'
import { toError } from './errors.ts'
import { isObject } from './is-object.ts'
import { readCondition } from './json-path.ts'

/** The time that a condition may take. */
export const EXPRESSION_MS = 1000

/** A condition in the language of JSONPath filters; what cannot be read is shown the example. */
export const condition = (example: string) =>
  v.pipe(
    v.string('must be a text'),
    v.minLength(1, 'must not be empty'),
    v.maxLength(2000, 'must have at most 2000 characters'),
    v.rawCheck(({ dataset, addIssue }) => {
      const problem = dataset.typed ? conditionProblem(dataset.value, example) : undefined
      if (problem !== undefined) addIssue({ message: problem })
    }),
  )

function conditionProblem(given: string, example: string): string | undefined {
  try {
    readCondition(given)
    return undefined
  } catch (thrown) {
    return `cannot be read: ${toError(thrown).message}. Write a condition such as ${example}`
  }
}

/** The first two names of a path, and whether it begins at the whole of what a filter looks at. */
export interface Named {
  readonly root: string | undefined
  readonly name: string | undefined
  readonly isOfWhole?: boolean
}

/** Returns what the paths in a condition, or the path itself, begin with. */
export function namesIn(query: JSONPathQuery): Named[] {
  const [first, second] = query.segments.map(({ selectors: [selector] }) => selector)
  if (isObject(first) && 'expression' in first) return pathsIn(first['expression'])
  return [{ root: nameOf(first), name: nameOf(second) }]
}

function pathsIn(value: unknown): Named[] {
  if (value instanceof JSONPathQuery) return namesIn(value)
  if (value instanceof jsonpath.expressions.RootQuery) {
    return namesIn(value.path).map((each) => ({ ...each, isOfWhole: true }))
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(pathsIn) : []
}

const nameOf = (selector: unknown): string | undefined =>
  isObject(selector) && typeof selector['name'] === 'string' ? selector['name'] : undefined

import type { JSONValue } from 'json-p3'
import { callBounded, isOverdue } from '../../shared/bounded-call.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { isObject } from '../../shared/is-object.ts'
import { readCondition, readPath } from '../../shared/json-path.ts'
import type { Inputs } from '../definitions/input-declarations.ts'

/** It runs in the process that answers all calls. */
const MAPPING_MS = 500
const FOUND_MAX = 1000
const PATH_MAX = 1000
/** As long as the body of a kickoff may be. */
const INPUTS_CHARACTERS_MAX = 256 * 1024
const TEMPLATE = new RegExp(`\\{\\{([^{}]{1,${PATH_MAX}})\\}\\}`, 'g')

/** Which deliveries start a run, and what becomes of them. */
export interface Mapping {
  /** A condition; null: each delivery does. */
  readonly filter: string | null
  /** The path of the id of a delivery; null: where the scheme has it. */
  readonly deliveryPath: string | null
  /** The inputs, in whose texts `{{ path }}` stands for what a path finds. */
  readonly inputs: Inputs
}

/** A delivery as filters and paths see it. */
export interface Facts {
  readonly body: unknown
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** Returns why a mapping cannot be used. */
export function mappingProblem({ filter, deliveryPath, inputs }: Mapping): string | undefined {
  if (filter !== null) {
    const problem = problemOf(() => readCondition(filter))
    if (problem !== undefined) {
      return `The filter ${problem}. Write a condition such as @.body.type == 'invoice.paid'.`
    }
  }
  const paths = [...(deliveryPath === null ? [] : [deliveryPath]), ...pathsIn(inputs)]
  for (const path of paths) {
    const problem = problemOf(() => readPath(path))
    if (problem !== undefined) {
      return `The path ${path} ${problem}. Write one such as $.body.data.object.id.`
    }
  }
  return undefined
}

function problemOf(read: () => unknown): string | undefined {
  try {
    read()
    return undefined
  } catch (thrown) {
    return `cannot be read: ${toError(thrown).message}`
  }
}

function pathsIn(value: unknown): string[] {
  if (typeof value === 'string') return [...value.matchAll(TEMPLATE)].map((found) => pathOf(found))
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((each) => pathsIn(each))
}

const pathOf = ([, path = '']: readonly string[]): string => path.trim()

/** What a mapping makes of a delivery. */
interface Mapped {
  /** undefined: the filter does not let it start a run. */
  readonly inputs: Inputs | undefined
  /** The id at the path of the mapping. */
  readonly deliveryId: unknown
}

/**
 * Applies a mapping to a delivery. Raises `unprocessable` for a filter that fails and for inputs
 * that are too large, and `timeout` for a mapping that takes half a second.
 */
export function mapDelivery({ filter, deliveryPath, inputs }: Mapping, facts: Facts): Mapped {
  const json = { body: toJson(facts.body), headers: { ...facts.headers } }
  try {
    return callBounded(MAPPING_MS, () => {
      const source = { json, charactersLeft: INPUTS_CHARACTERS_MAX }
      const deliveryId = deliveryPath === null ? undefined : find(deliveryPath, json)
      const isWanted = filter === null || readCondition(filter).query([json]).length > 0
      return { deliveryId, inputs: isWanted ? fillAll(inputs, source) : undefined }
    })
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown
    if (isOverdue(thrown)) throw new AppError('timeout', SLOW)
    throw new AppError('unprocessable', `The mapping failed: ${toError(thrown).message}.`)
  }
}

/** Why a mapping does not end in time. */
const SLOW =
  `The filter and the mapping take longer than ${MAPPING_MS} ms. Use simpler paths, without .. ` +
  'and regular expressions that look far.'

/** Bodies were parsed from JSON or made of a form. */
const toJson = (body: unknown): JSONValue => body as JSONValue

/** A delivery, and how much may still be taken from it. */
interface Source {
  readonly json: JSONValue
  charactersLeft: number
}

/** What a path does not find is left out where it stands alone, and empty within a text. */
function fill(value: unknown, source: Source): unknown {
  if (typeof value === 'string') return fillText(value, source)
  if (Array.isArray(value)) return value.map((each) => fill(each, source) ?? null)
  return isObject(value) ? fillAll(value, source) : value
}

function fillAll(inputs: Inputs, source: Source): Inputs {
  const entries = Object.entries(inputs).map(
    ([name, value]) => [name, fill(value, source)] as const,
  )
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function fillText(text: string, source: Source): unknown {
  const [only] = text.trim().matchAll(TEMPLATE)
  if (only?.[0] === text.trim()) return take(pathOf(only), source)
  return text.replaceAll(TEMPLATE, (...match: readonly string[]) =>
    textOf(take(pathOf(match), source)),
  )
}

function take(path: string, source: Source): unknown {
  const value = find(path, source.json)
  source.charactersLeft -= value === undefined ? 0 : JSON.stringify(value).length
  if (source.charactersLeft >= 0) return value
  const most = `${INPUTS_CHARACTERS_MAX / 1024} KiB`
  throw new AppError('unprocessable', `The inputs are larger than ${most}. Take less of the body.`)
}

/** The value at a path that leads to one place; else the list of what is found. */
function find(path: string, json: JSONValue): unknown {
  const query = readPath(path)
  const values: JSONValue[] = []
  for (const { value } of query.lazyQuery(json)) if (values.push(value) === FOUND_MAX) break
  return query.singularQuery() ? values[0] : values
}

function textOf(value: unknown): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) return value.map((each) => textOf(each)).join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

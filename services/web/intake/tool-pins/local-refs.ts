import { isObject } from '../../../shared/is-object.ts'

const DEPTH_MAX = 100
const NODES_MAX = 20_000

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>

/** Follows a reference within a document. Raises an error that names what is missing. */
export function follow(document: Json, value: unknown): unknown {
  let found = value
  for (let steps = 0; steps < DEPTH_MAX; steps += 1) {
    const ref = isObject(found) ? found['$ref'] : undefined
    if (typeof ref !== 'string') return found
    found = lookUp(document, ref)
  }
  throw new Error('its references go round in circles')
}

function lookUp(document: Json, ref: string): unknown {
  if (!ref.startsWith('#')) {
    throw new Error(`it refers to ${ref.slice(0, 100)}, which is not in the same document`)
  }
  let found: unknown = document
  for (const part of ref.slice(1).split('/').slice(1)) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, key)
    if (!isThere) throw new Error(`it refers to ${ref.slice(0, 100)}, which is not there`)
    found = (found as Json)[key]
  }
  return found
}

/**
 * Returns a schema of a document as one that stands alone: what it refers to is in its `$defs`.
 * Raises an error for a reference that leads nowhere or out of the document.
 */
export function standAlone(document: Json, schema: Json): Json {
  const names = new Map<string, string>()
  const defs: Record<string, unknown> = {}
  let nodes = 0

  function copy(value: unknown, depth: number): unknown {
    if ((nodes += 1) > NODES_MAX || depth > DEPTH_MAX) throw new Error('it is too large')
    if (Array.isArray(value)) return value.map((each) => copy(each, depth + 1))
    if (!isObject(value)) return value
    const entries = Object.entries(inNewerWords(value))
    const copied = Object.fromEntries(entries.map(([key, each]) => [key, copy(each, depth + 1)]))
    const { $ref: ref } = value
    return typeof ref === 'string' ? { ...copied, $ref: define(ref, depth) } : copied
  }

  function define(ref: string, depth: number): string {
    const known = names.get(ref)
    if (known !== undefined) return `#/$defs/${known}`
    const last =
      ref
        .split('/')
        .at(-1)
        ?.replace(/[^\w-]/g, '_') ?? ''
    const name = Object.hasOwn(defs, last) || last === '' ? `${last}_${names.size}` : last
    names.set(ref, name)
    defs[name] = true
    defs[name] = copy(lookUp(document, ref), depth + 1)
    return `#/$defs/${name}`
  }

  const copied = copy(schema, 0) as Json
  return names.size === 0 ? copied : { ...copied, $defs: defs }
}

/** What OpenAPI 3.0 says in words of its own, as JSON Schema has it. */
function inNewerWords(schema: Json): Json {
  const { nullable, ...others } = schema
  const { type, exclusiveMinimum, exclusiveMaximum } = schema
  if (nullable === true && typeof type === 'string') return { ...others, type: [type, 'null'] }
  if (typeof exclusiveMinimum === 'boolean' || typeof exclusiveMaximum === 'boolean') {
    const { exclusiveMinimum: _min, exclusiveMaximum: _max, ...bounds } = schema
    return bounds
  }
  return schema
}

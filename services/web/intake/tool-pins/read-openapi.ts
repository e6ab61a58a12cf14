import * as v from 'valibot'
import { PARAMETER_PLACES } from '../../../platform/tools/tool-definitions.ts'
import type { PinnedOperation } from '../../../platform/tools/tool-definitions.ts'
import { didYouMean } from '../../../shared/closest.ts'
import { isObject } from '../../../shared/is-object.ts'
import { addressProblem } from '../../../shared/outgoing/address.ts'
import { follow, standAlone } from './local-refs.ts'
import type { Json } from './local-refs.ts'

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete'] as const
const OPERATIONS_MAX = 5000
const DESCRIPTION_CHARACTERS_MAX = 4000
/** Those that OpenAPI leaves to other parts of a document, and those that HTTP needs itself. */
const RESERVED_HEADERS = new Set([
  'accept',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'cookie',
  'host',
  'idempotency-key',
  'transfer-encoding',
])

const parameter = v.object({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
  in: v.picklist([...PARAMETER_PLACES, 'cookie']),
  required: v.optional(v.boolean(), false),
  description: v.optional(v.string()),
  schema: v.optional(v.record(v.string(), v.unknown())),
})
type Parameter = v.InferOutput<typeof parameter>

interface Found {
  readonly method: (typeof METHODS)[number]
  readonly path: string
  readonly item: Json
  readonly operation: Json
}

/**
 * Reads operations of an OpenAPI 3.x document by their `operationId`. Raises an error that says
 * which one cannot be used, and why.
 */
export function readOperations(document: Json, names: readonly string[]): PinnedOperation[] {
  const found = findOperations(document)
  return names.map((name) => {
    const one = found.get(name)
    if (!one)
      throw new Error(`there is no operation ${name}.${didYouMean(name, [...found.keys()])}`)
    try {
      return toPinned(document, name, one)
    } catch (thrown) {
      throw new Error(`${name} cannot be used: ${messageOf(thrown)}`, { cause: thrown })
    }
  })
}

/** Reads every operation of an OpenAPI 3.x document, also those that cannot be used, with why. */
export function readAllOperations(document: Json) {
  return [...findOperations(document)].map(([name, found]) => {
    const description = describe(found.operation)
    try {
      return { name, description, inputSchema: toPinned(document, name, found).input_schema }
    } catch (thrown) {
      return { name, description, problem: messageOf(thrown) }
    }
  })
}

const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown)

function findOperations(document: Json): Map<string, Found> {
  const { openapi, paths } = document
  if (typeof openapi !== 'string' || !/^3\.\d/.test(openapi)) {
    throw new Error('the document is not OpenAPI 3: its `openapi` must be 3.0, 3.1 or 3.2')
  }
  if (!isObject(paths)) throw new Error('the document has no `paths`')
  const found = new Map<string, Found>()
  for (const [path, given] of Object.entries(paths)) {
    const item = follow(document, given)
    if (!isObject(item)) continue
    for (const method of METHODS) {
      const operation = item[method]
      if (!isObject(operation) || typeof operation['operationId'] !== 'string') continue
      found.set(operation['operationId'], { method, path, item, operation })
      if (found.size > OPERATIONS_MAX) throw new Error('the document has too many operations')
    }
  }
  return found
}

function toPinned(document: Json, name: string, found: Found): PinnedOperation {
  const { method, path, operation } = found
  const parameters = readParameters(document, found)
  const bodySchema = readBodySchema(document, operation)
  refuseSameNames(parameters, bodySchema !== undefined)
  const schema = {
    type: 'object',
    properties: Object.fromEntries([
      ...parameters.map((each) => [each.name, schemaOf(each)]),
      ...(bodySchema ? [['body', bodySchema.schema]] : []),
    ]),
    required: [
      ...parameters.filter(({ required }) => required).map((each) => each.name),
      ...(bodySchema?.required ? ['body'] : []),
    ],
    additionalProperties: false,
  }
  return {
    name,
    description: describe(operation),
    method: METHOD_NAMES[method],
    path,
    parameters: parameters.flatMap((each) =>
      each.in === 'cookie' ? [] : [{ name: each.name, in: each.in }],
    ),
    input_schema: standAlone(document, schema),
  }
}

const METHOD_NAMES = {
  get: 'GET',
  head: 'HEAD',
  post: 'POST',
  put: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
} as const

/** An operation's own parameters take the place of its path's. Optional cookies are left out. */
function readParameters(document: Json, { item, operation }: Found): Parameter[] {
  const byPlace = new Map<string, Parameter>()
  for (const list of [item['parameters'], operation['parameters']]) {
    for (const given of Array.isArray(list) ? list : []) {
      const result = v.safeParse(parameter, follow(document, given))
      if (!result.success) throw new Error(`a parameter is not valid: ${said(result.issues[0])}`)
      byPlace.set(`${result.output.in} ${result.output.name}`, result.output)
    }
  }
  return [...byPlace.values()].filter((each) => {
    const isReserved = each.in === 'header' && RESERVED_HEADERS.has(each.name.toLowerCase())
    if (each.required && each.in === 'cookie') {
      throw new Error(`it needs the cookie ${each.name}, which a tool cannot send`)
    }
    return !isReserved && each.in !== 'cookie'
  })
}

const said = (issue: v.BaseIssue<unknown>): string =>
  `${v.getDotPath(issue) ?? 'parameter'} ${issue.message}`

const schemaOf = ({ schema = {}, description }: Parameter): Json =>
  description === undefined || '$ref' in schema ? schema : { description, ...schema }

function readBodySchema(document: Json, operation: Json) {
  const body = follow(document, operation['requestBody'])
  if (!isObject(body)) return undefined
  const content = isObject(body['content']) ? body['content'] : {}
  const type = Object.keys(content).find((each) => /^application\/([\w.-]+\+)?json\b/i.test(each))
  const required = body['required'] === true
  if (type === undefined && !required) return undefined
  const media = type === undefined ? undefined : content[type]
  if (!isObject(media)) {
    const types = Object.keys(content).join(', ').slice(0, 200) || 'nothing'
    throw new Error(`its body must be ${types}, and a tool sends application/json only`)
  }
  const schema = isObject(media['schema']) ? media['schema'] : {}
  return { schema, required }
}

function refuseSameNames(parameters: readonly Parameter[], hasBody: boolean): void {
  const names = [...parameters.map(({ name }) => name), ...(hasBody ? ['body'] : [])]
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new Error(`it has two parameters ${twice}`)
}

function describe({ summary, description }: Json): string {
  const texts = [summary, description].filter((each) => typeof each === 'string')
  return texts.join('\n\n').slice(0, DESCRIPTION_CHARACTERS_MAX)
}

const relativeProblem = (path: string): string | undefined =>
  /^\/\/|[\\\s\p{Cc}]/u.test(path) ? 'must be a path, without \\ and spaces' : undefined

/**
 * Returns the address of an API: the one given, or the first of the document's `servers`, which may
 * be relative to where the document was read. Raises an error when there is none.
 */
export function baseUrlOf(
  document: Json,
  { given, readFrom }: { given: string | undefined; readFrom: string | undefined },
): string {
  if (given !== undefined) return given
  const [server] = Array.isArray(document['servers']) ? document['servers'] : []
  const written = isObject(server) && typeof server['url'] === 'string' ? server['url'] : '/'
  const variables = isObject(server) && isObject(server['variables']) ? server['variables'] : {}
  const filled = written.replace(/\{(\w+)\}/g, (place, name: string) => {
    const variable = variables[name]
    const standard = isObject(variable) ? variable['default'] : undefined
    return typeof standard === 'string' ? standard : place
  })
  if (!URL.canParse(filled, readFrom)) {
    throw new Error(
      `its server ${filled.slice(0, 100)} is no absolute URL: give the tool a base_url`,
    )
  }
  const url = new URL(filled, readFrom)
  const problem = URL.canParse(filled) ? addressProblem(filled) : relativeProblem(filled)
  if (problem !== undefined) throw new Error(`its server ${problem}: give the tool a base_url`)
  return `${url.origin}${url.pathname}`.replace(/\/$/, '')
}

import { toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import { ERROR_CODES } from '../../../shared/errors.ts'

const DEFINITION = Symbol('definition')

/** A schema that the document has by its name: what refers to it brings it there. */
export interface Named {
  readonly $ref: string
  readonly [DEFINITION]: object | (() => object)
}

/** Names a schema; a function makes it once the document is asked for. */
export const named = (name: string, definition: object | (() => object)): Named => ({
  ...schema(name),
  [DEFINITION]: definition,
})

/** Returns the named schemas that a part of a document refers to, directly or through others. */
export function definitionsIn(part: unknown): Record<string, object> {
  const found = new Map<string, object>()
  const sources = new Map<string, unknown>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if (isNamed(value)) define(value)
    for (const each of Object.values(value)) visit(each)
  }
  function define({ $ref, [DEFINITION]: source }: Named): void {
    const name = $ref.slice($ref.lastIndexOf('/') + 1)
    const known = sources.get(name)
    if (known === source) return
    if (known !== undefined) throw new Error(`Two schemas have the name ${name}.`)
    sources.set(name, source)
    const definition = typeof source === 'function' ? source() : source
    found.set(name, definition)
    visit(definition)
  }
  visit(part)
  return Object.fromEntries(found)
}

/** Tells whether a schema has a name. */
export const isNamed = (value: object): value is Named => DEFINITION in value

/** Returns the JSON Schema of a body as a client sends it, from the schema that parses it. */
export const schemaOfBody = (parser: v.GenericSchema, description?: string): object => {
  const options = { target: 'draft-2020-12', typeMode: 'input', errorMode: 'ignore' } as const
  const { $schema: _, ...converted } = toJsonSchema(parser, options)
  return description === undefined ? converted : { ...converted, description }
}

/** Refers to a schema of the document. */
export const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` })

/** A response header. */
export const header = (description: string) => ({ description, schema: { type: 'string' } })

/** A response with an RFC 9457 problem. */
export const problem = (description: string, headers?: Record<string, unknown>) => ({
  description,
  ...(headers ? { headers } : {}),
  content: { 'application/problem+json': { schema: Problem } },
})

/** The header of a response that says where something is. */
export const location = (description: string) => ({ Location: header(description) })

/** The header of a 401 or a 403. */
export const challenge = {
  'WWW-Authenticate': header('RFC 6750, with resource_metadata of RFC 9728.'),
}
/** The header of a response that says when to try again. */
export const retryAfter = { 'Retry-After': header('Seconds to wait.') }

/** The header of a response that may be kept. */
export const cached = { 'Cache-Control': header('It may be kept for five minutes.') }

/** The headers that tell callers with a token what is left of their minute. */
const rateLimit = {
  'RateLimit-Policy': header(
    'The limits, by draft-ietf-httpapi-ratelimit-headers-10: `token` for the calls with this ' +
      'token, `organization` for those with all; `q` in `w` seconds. On each ' +
      'answer to a good token.',
  ),
  RateLimit: header('What is left of them: `r` calls for the next `t` seconds.'),
}

/** The responses to a call without a good token; `reason` is that of the 401. */
export const refusedTokens = (reason: string) => ({
  '401': problem(reason, challenge),
  '429': problem(
    'Too many calls in a minute with this token or by its organization (details.policy); or too ' +
      'many from this address with unknown tokens. A kickoff also gets it while too ' +
      'many runs wait in the queue (`queue_full`; details.queued, details.limit).',
    { ...retryAfter, ...rateLimit },
  ),
})

/** A parameter of the `path`, the `query` or the `header`; UUIDs in the path. */
export const parameter = (name: string, where: string, rest: Record<string, unknown> = {}) => ({
  name,
  in: where,
  required: where === 'path',
  schema: { type: 'string', ...(where === 'path' ? { format: 'uuid' } : {}) },
  ...rest,
})

/** The header that makes a repeated call the same run. */
export const idempotencyKey = parameter('Idempotency-Key', 'header', {
  description: 'The same key within 24 hours is the same run.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
})

/** A parameter of the query that is true or false; false without it. */
export const flag = (name: string, description: string) =>
  parameter(name, 'query', { description, schema: { type: 'boolean', default: false } })

/** The content of a file. */
export const file = { schema: { type: 'string', format: 'binary' } }

/** An object whose properties are all required, and no others allowed. */
export const closed = (
  properties: Record<string, unknown>,
  rest: Record<string, unknown> = {},
) => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties),
  properties,
  ...rest,
})
/** An object of these properties, of which few are required, and no others allowed. */
export const perhaps = (properties: Record<string, unknown>, required: readonly string[] = []) =>
  closed(properties, { required })
/** A string. */
export const text = { type: 'string' }
/** An integer. */
export const integer = { type: 'integer' }
/** A number. */
export const number = { type: 'number' }
/** True or false. */
export const truth = { type: 'boolean' }
/** One of some words. */
export const words = (all: readonly string[]) => ({ type: 'string', enum: all })
/** A schema with a sentence about it. */
export const say = <Of extends object>(of: Of, description: string) => ({ ...of, description })
/** What a schema describes, or null. */
export const orNull = (of: object, description?: string) => ({
  oneOf: [of, { type: 'null' }],
  ...(description === undefined ? {} : { description }),
})
/** A value of this type, or null. */
export const nullable = (type: string, rest: Record<string, unknown> = {}) => ({
  type: [type, 'null'],
  ...rest,
})
/** A text, or null. */
export const perhapsText = nullable('string')
/** A time by RFC 3339. */
export const moment = { type: 'string', format: 'date-time' }
/** A time by RFC 3339, or null. */
export const perhapsMoment = nullable('string', { format: 'date-time' })
/** A UUID. */
export const uuid = { type: 'string', format: 'uuid' }
/** A UUID, or null. */
export const perhapsUuid = nullable('string', { format: 'uuid' })
/** An array of these items. */
export const list = (items: unknown) => ({ type: 'array', items })
/** What asks for the next page. */
export const nextCursor = nullable('string', { description: 'Null on the last page.' })
/** A page of a list. */
export const page = (name: string, items: unknown) =>
  closed({ [name]: list(items), next_cursor: nextCursor })

const Problem = named('Problem', {
  type: 'object',
  description: 'RFC 9457; error and message repeat the code and the text.',
  required: ['type', 'title', 'status', 'detail', 'error', 'message'],
  properties: {
    type: text,
    title: text,
    status: integer,
    detail: text,
    error: {
      ...words(ERROR_CODES),
      description: 'A word for programs.',
      examples: ['invalid_token'],
    },
    message: text,
    details: {
      type: 'object',
      additionalProperties: true,
      description: 'Facts for programs, such as missing_inputs.',
    },
    request_id: say(text, 'Finds the request in the log.'),
  },
})

/** `queuedAt` for `queued_at`. */
export type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name

type Properties = Readonly<Record<string, unknown>>
/** What properties are read of: their names in camelCase. */
export type RowOf<Of extends Properties> = {
  readonly [Name in keyof Of & string as Camel<Name>]: unknown
}
type Shown<Of extends Properties> = { [Name in keyof Of]: unknown }

/** What an API shows of something: its schema, and what makes it of a row. */
export interface Document<Row, Of extends Properties = Properties> extends Named {
  readonly of: (row: Row) => Shown<Of>
}

/**
 * Creates a document of a name: a closed object of these properties, which a row has by the same
 * names in camelCase; `toRow` makes one of something else.
 */
export function document<Of extends Properties>(
  name: string,
  properties: Of,
): Document<RowOf<Of>, Of>
export function document<Of extends Properties, Row>(
  name: string,
  properties: Of,
  toRow: (row: Row) => RowOf<Of>,
): Document<Row, Of>
export function document<Of extends Properties>(
  name: string,
  properties: Of,
  toRow = (row: RowOf<Of>) => row,
): Document<RowOf<Of>, Of> {
  const pick = pickOf(properties)
  return { ...named(name, closed(properties)), of: (row) => pick(toRow(row)) }
}

/** Creates what makes an object of these properties of a row, see `document`. */
export function pickOf<Of extends Properties>(properties: Of): (row: RowOf<Of>) => Shown<Of> {
  const names = Object.keys(properties).map((name) => [name, toCamel(name)] as const)
  return (row) => {
    const fields: Readonly<Record<string, unknown>> = row
    const picked = Object.fromEntries(names.map(([name, field]) => [name, fields[field]]))
    // The names are those of the properties, which the compiler does not follow.
    return picked as Shown<Of>
  }
}

const toCamel = (name: string): string =>
  name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The tokens of a run or of a call. */
export const tokens = { input_tokens: integer, output_tokens: integer }
/** Returns tokens as all APIs show them. */
export const tokensOf = pickOf(tokens)

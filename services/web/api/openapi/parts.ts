import { toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'

/** Returns the JSON Schema of a body as a client sends it, from the schema that parses it. */
export const schemaOfBody = (parser: v.GenericSchema, description?: string): object => {
  const options = { target: 'draft-2020-12', typeMode: 'input', errorMode: 'ignore' } as const
  const { $schema: _, ...converted } = toJsonSchema(parser, options)
  return description === undefined ? converted : { ...converted, description }
}

/** Refers to a schema of the document. */
export const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` })

/** A response with a JSON body of the named schema. */
export const json = (description: string, name: string, headers?: Record<string, unknown>) => ({
  description,
  ...(headers ? { headers } : {}),
  content: { 'application/json': { schema: schema(name) } },
})

/** A response header. */
export const header = (description: string) => ({ description, schema: { type: 'string' } })

/** A response with an RFC 9457 problem. */
export const problem = (description: string, headers?: Record<string, unknown>) => ({
  description,
  ...(headers ? { headers } : {}),
  content: { 'application/problem+json': { schema: schema('Problem') } },
})

/** The header of a response that says where something is. */
export const location = (description: string) => ({ Location: header(description) })

/** A JSON request body of the named schema. */
export const body = (name: string, example?: unknown) => ({
  required: true,
  content: {
    'application/json': { schema: schema(name), ...(example === undefined ? {} : { example }) },
  },
})

/** The header of a 401 or a 403. */
export const challenge = {
  'WWW-Authenticate': header('RFC 6750, with resource_metadata of RFC 9728.'),
}
/** The header of a response that says when to try again. */
export const retryAfter = { 'Retry-After': header('Seconds to wait.') }

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

/** The query parameter that asks for the next page of a list. */
export const cursor = parameter('cursor', 'query', {
  description: 'The next_cursor of the page before.',
  schema: { type: 'string', minLength: 1 },
})

/** The query parameters that ask for a page of a list. */
export const paging = [
  parameter('limit', 'query', {
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  }),
  cursor,
]

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
/** A string. */
export const text = { type: 'string' }
/** An integer. */
export const integer = { type: 'integer' }
/** A value of this type, or null. */
export const nullable = (type: string, rest: Record<string, unknown> = {}) => ({
  type: [type, 'null'],
  ...rest,
})
/** A time by RFC 3339. */
export const moment = { type: 'string', format: 'date-time' }
/** A time by RFC 3339, or null. */
export const perhapsMoment = nullable('string', { format: 'date-time' })
/** A UUID. */
export const uuid = { type: 'string', format: 'uuid' }
/** An array of these items. */
export const list = (items: unknown) => ({ type: 'array', items })

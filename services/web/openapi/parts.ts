/** Refers to a schema of the document. */
export const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` })

export const json = (description: string, name: string, headers?: Record<string, unknown>) => ({
  description,
  ...(headers ? { headers } : {}),
  content: { 'application/json': { schema: schema(name) } },
})

export const header = (description: string) => ({ description, schema: { type: 'string' } })

export const problem = (description: string, headers?: Record<string, unknown>) => ({
  description,
  ...(headers ? { headers } : {}),
  content: { 'application/problem+json': { schema: schema('Problem') } },
})

export const body = (name: string, example?: unknown) => ({
  required: true,
  content: {
    'application/json': { schema: schema(name), ...(example === undefined ? {} : { example }) },
  },
})

export const challenge = {
  'WWW-Authenticate': header('RFC 6750, with resource_metadata of RFC 9728.'),
}
export const retryAfter = { 'Retry-After': header('Seconds to wait.') }

/** The second refusal, beside 401, of any call that takes a token. */
export const tooManyBadTokens = {
  '429': problem('Too many calls from this address with tokens that are nobody’s.', retryAfter),
}

export const parameter = (name: string, where: string, rest: Record<string, unknown> = {}) => ({
  name,
  in: where,
  required: where === 'path',
  schema: { type: 'string', ...(where === 'path' ? { format: 'uuid' } : {}) },
  ...rest,
})

export const idempotencyKey = parameter('Idempotency-Key', 'header', {
  description: 'The same key within 24 hours is the same run.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
})

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
export const text = { type: 'string' }
export const integer = { type: 'integer' }
export const nullable = (type: string, rest: Record<string, unknown> = {}) => ({
  type: [type, 'null'],
  ...rest,
})
export const moment = { type: 'string', format: 'date-time' }
export const perhapsMoment = nullable('string', { format: 'date-time' })
export const uuid = { type: 'string', format: 'uuid' }
export const list = (items: unknown) => ({ type: 'array', items })

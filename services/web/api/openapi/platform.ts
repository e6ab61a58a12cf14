import { closed, header, json, list, text } from './parts.ts'

const get = (operationId: string, summary: string, responses: Record<string, unknown>) => ({
  get: { operationId, tags: ['Platform'], summary, security: [], responses },
})
const cached = { 'Cache-Control': header('It may be kept for five minutes.') }

/** The paths that everybody may read. */
export const PLATFORM_PATHS = {
  '/health': get('health', 'Whether the service and its database answer, for load balancers', {
    '200': json('They do.', 'Health'),
    '503': json('The database does not answer, or the service stops.', 'Health'),
  }),
  '/health/ready': get('ready', 'Whether the service takes calls', {
    '200': json('It does.', 'Health'),
    '503': json('It stops.', 'Health'),
  }),
  '/health/live': get('live', 'Whether the service is up', { '200': json('It is.', 'Health') }),
  '/.well-known/oauth-protected-resource': get(
    'describeResource',
    'Where clients get access tokens for the automation API (RFC 9728)',
    { '200': json('What is known of it.', 'ProtectedResource', cached) },
  ),
  '/openapi.json': get('describeApi', 'This document', {
    '200': {
      description: 'OpenAPI 3.1.',
      headers: cached,
      content: { 'application/json': { schema: { type: 'object', additionalProperties: true } } },
    },
  }),
}

/** The schemas of what everybody may read. */
export const PLATFORM_SCHEMAS = {
  Health: closed({ status: { type: 'string', enum: ['ok', 'fail'] } }),
  ProtectedResource: {
    type: 'object',
    required: ['resource', 'resource_name', 'bearer_methods_supported'],
    properties: {
      resource: { ...text, format: 'uri' },
      resource_name: text,
      authorization_servers: {
        ...list({ ...text, format: 'uri' }),
        description: 'Absent unless all organizations use the same one.',
      },
      scopes_supported: list(text),
      bearer_methods_supported: list(text),
    },
  },
}

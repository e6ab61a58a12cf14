import { automationPath } from './automation-urls.ts'
import type { WebConfig } from './env.ts'
import { EXECUTION_STATUSES } from '../platform/executions.ts'
import { STATES } from './routes/execution-status.ts'

type Config = Pick<WebConfig, 'PLATFORM_BASE_URL' | 'PLATFORM_API_PREFIX' | 'PLATFORM_VERSION'>

const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const json = (description: string, name: string, headers?: Record<string, unknown>) => ({
  description,
  ...(headers ? { headers } : {}),
  content: { 'application/json': { schema: schema(name) } },
})
const header = (description: string) => ({ description, schema: { type: 'string' } })
const problem = (description: string, headers?: Record<string, unknown>) => ({
  description,
  ...(headers ? { headers } : {}),
  content: { 'application/problem+json': { schema: schema('Problem') } },
})

const challenge = { 'WWW-Authenticate': header('RFC 6750, with resource_metadata of RFC 9728.') }
const retryAfter = { 'Retry-After': header('Seconds to wait.') }

/** What any call may answer. */
const COMMON = {
  '401': problem('No token, or one that does not open this automation.', challenge),
  '403': problem('The token lacks the scope.', challenge),
  '429': problem('Too many calls from this address with tokens that are nobody’s.', retryAfter),
  '503': problem('The database or the identity provider is away. Try again.', retryAfter),
}
const NO_KICKOFF = { '404': problem('This automation has no such kickoff.') }

const parameter = (name: string, where: string, rest: Record<string, unknown> = {}) => ({
  name,
  in: where,
  required: where === 'path',
  schema: { type: 'string', ...(where === 'path' ? { format: 'uuid' } : {}) },
  ...rest,
})
const automationId = parameter('automation_id', 'path')
const kickoffId = parameter('kickoff_id', 'path')
const idempotencyKey = parameter('Idempotency-Key', 'header', {
  description: 'The same key within 24 hours is the same run.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
})

const kickoff = {
  operationId: 'kickoff',
  summary: 'Start a run',
  parameters: [idempotencyKey],
  requestBody: {
    required: true,
    content: { 'application/json': { schema: schema('KickoffRequest') } },
  },
  responses: {
    '202': json('The run is queued, durably.', 'Kickoff', {
      Location: header('Where its status is.'),
      ...retryAfter,
    }),
    '400': problem('The body is not JSON, or the Idempotency-Key is malformed.'),
    ...COMMON,
    '413': problem('The body is larger than 256 KiB.'),
    '415': problem('Not application/json.'),
    '422': problem(
      'An input is missing, a key is unknown, or the Idempotency-Key was used before.',
    ),
  },
}

const status = {
  operationId: 'status',
  summary: 'Ask how a run is doing',
  parameters: [kickoffId],
  responses: { '200': json('The run.', 'Status'), ...COMMON, ...NO_KICKOFF },
}

const inputs = {
  operationId: 'inputs',
  summary: 'Ask which inputs the automation needs',
  responses: { '200': json('The names.', 'Inputs'), ...COMMON },
}

const stop = {
  operationId: 'stop',
  summary: 'Stop a run that is not over; stopping it again is no error',
  parameters: [kickoffId],
  responses: {
    '200': json('The run is stopped.', 'Stopped'),
    ...COMMON,
    ...NO_KICKOFF,
    '409': problem('The run is over.'),
  },
}

const closed = (properties: Record<string, unknown>) => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties),
  properties,
})
const text = { type: 'string' }
const nullable = (type: string, rest: Record<string, unknown> = {}) => ({
  type: [type, 'null'],
  ...rest,
})
const moment = { type: 'string', format: 'date-time' }
const uuid = { type: 'string', format: 'uuid' }

const SCHEMAS = {
  KickoffRequest: closed({ inputs: { type: 'object', additionalProperties: true } }),
  Kickoff: closed({ kickoff_id: uuid, status: { const: 'queued' }, status_url: text }),
  Inputs: closed({ inputs: { type: 'array', items: text } }),
  Stopped: closed({
    kickoff_id: uuid,
    status: { const: 'stopped' },
    state: { const: STATES.stopped },
  }),
  Status: closed({
    kickoff_id: uuid,
    status: { enum: EXECUTION_STATUSES },
    state: { enum: Object.values(STATES) },
    output: nullable('string'),
    result: nullable('string', { description: 'The same as output.' }),
    error: nullable('object', { properties: { code: text, message: text } }),
    usage: nullable('object', {
      properties: { input_tokens: { type: 'integer' }, output_tokens: { type: 'integer' } },
    }),
    progress: { type: 'array', maxItems: 20, items: { type: 'object' } },
    queued_at: moment,
    started_at: nullable('string', { format: 'date-time' }),
    finished_at: nullable('string', { format: 'date-time' }),
  }),
  Problem: {
    type: 'object',
    description: 'RFC 9457; error and message repeat the code and the text.',
    required: ['type', 'title', 'status', 'detail', 'error', 'message', 'request_id'],
    properties: {
      type: text,
      title: text,
      status: { type: 'integer' },
      detail: text,
      error: text,
      message: text,
      details: { type: 'object' },
      request_id: text,
    },
  },
}

/** The automation API as OpenAPI 3.1 (SPEC 4.4). */
export function describeApi(config: Config) {
  const path = automationPath(config, '{automation_id}')
  const at = (method: string, operation: Record<string, unknown>) => ({
    parameters: [automationId],
    [method]: operation,
  })
  return {
    openapi: '3.1.0',
    info: { title: 'Automation API', version: config.PLATFORM_VERSION },
    servers: [{ url: config.PLATFORM_BASE_URL }],
    security: [{ bearer: [] }],
    paths: {
      [`${path}/kickoff`]: at('post', kickoff),
      [`${path}/status/{kickoff_id}`]: at('get', status),
      [`${path}/inputs`]: at('get', inputs),
      [`${path}/stop/{kickoff_id}`]: at('post', stop),
    },
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A static token, or an access token of the OAuth 2.0 client credentials grant.',
        },
      },
      schemas: SCHEMAS,
    },
  }
}

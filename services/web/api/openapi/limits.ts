import { LIMIT_MAX } from '../../../platform/people/organization-limits.ts'
import { body, closed, json, nullable, parameter, problem, refusedTokens, schema } from './parts.ts'

const bounds = { minimum: 0, maximum: LIMIT_MAX }
const each = (type: Record<string, unknown>) => ({
  token_calls_per_minute: { ...type, description: 'With one token, or by one OAuth client.' },
  organization_calls_per_minute: { ...type, description: 'With all tokens of the organization.' },
  queued_runs: { ...type, description: 'Runs that wait in the queue.' },
})

/** The schemas of limits. */
export const LIMIT_SCHEMAS = {
  LimitsRequest: {
    type: 'object',
    additionalProperties: false,
    description: 'One that is null or left out is the platform’s; 0 is no limit.',
    properties: each(nullable('integer', bounds)),
  },
  OwnLimits: closed(each(nullable('integer', bounds))),
  Limits: closed({
    ...each({ type: 'integer', ...bounds }),
    own: schema('OwnLimits'),
  }),
}

const COMMON = {
  '200': json('What holds; 0 is no limit. `own` has what differs from the platform’s.', 'Limits'),
  ...refusedTokens('No token of the whole organization.'),
}
const OTHERS = {
  ...COMMON,
  '403': problem('No token of the internal organization, or one without the scope.'),
  '404': problem('There is no such organization.'),
}
const operation = (operationId: string, summary: string, rest: Record<string, unknown>) => ({
  operationId,
  tags: ['Platform'],
  summary,
  ...rest,
})

/** The paths of limits. */
export const LIMIT_PATHS = {
  '/designer/v2/limits': {
    get: operation('getLimits', 'The limits of the organization', {
      responses: { ...COMMON, '403': problem('No role in the organization, or no such scope.') },
    }),
  },
  '/designer/v2/organizations/{organization_id}/limits': {
    parameters: [parameter('organization_id', 'path', { schema: { type: 'integer', minimum: 1 } })],
    get: operation('getOrganizationLimits', 'The limits of an organization, for operators', {
      responses: OTHERS,
    }),
    put: operation('setOrganizationLimits', 'Gives an organization limits of its own', {
      requestBody: body('LimitsRequest', { token_calls_per_minute: 600, queued_runs: null }),
      responses: {
        ...OTHERS,
        '400': problem('The body is not JSON.'),
        '413': problem('The body is larger than 16 KiB.'),
        '415': problem('Not application/json.'),
        '422': problem('The limits are not valid; details.problems has each place.'),
      },
    }),
  },
}

import { WORKLOAD_SCOPES } from '../../../platform/workloads/workload-rules.ts'
import { MINUTES_MAX } from '../../../platform/workloads/workload-rule-fields.ts'
import { GRANT_TYPE, ISSUED_TYPE, SUBJECT_TYPES } from '../workloads/exchange-request.ts'
import { TOKEN_PATH } from '../workloads/token-errors.ts'
import { closed, json, retryAfter, schema, text } from './parts.ts'

const address = { ...text, format: 'uri', description: 'The address of the automation.' }
const scope = { ...text, description: `Some of ${WORKLOAD_SCOPES.join(', ')}, with spaces.` }

/** The schemas of the exchange of tokens. */
export const WORKLOAD_SCHEMAS = {
  TokenExchange: {
    type: 'object',
    required: ['grant_type', 'subject_token', 'subject_token_type'],
    properties: {
      grant_type: { const: GRANT_TYPE },
      subject_token: { ...text, description: 'The token of the workload: a signed JWT.' },
      subject_token_type: { type: 'string', enum: SUBJECT_TYPES },
      audience: address,
      resource: { ...address, description: 'The same, in place of audience.' },
      scope,
      requested_token_type: { const: ISSUED_TYPE },
    },
  },
  ExchangedToken: closed({
    access_token: text,
    issued_token_type: { const: ISSUED_TYPE },
    token_type: { const: 'Bearer' },
    expires_in: {
      type: 'integer',
      minimum: 60,
      maximum: MINUTES_MAX * 60,
      description: 'In seconds.',
    },
    scope,
  }),
  TokenError: closed({ error: text, error_description: text }),
}

const refused = (description: string) => ({
  description,
  content: { 'application/json': { schema: schema('TokenError') } },
})
const later = (description: string) => ({ ...refused(description), headers: retryAfter })

/** The path where workloads exchange their tokens. */
export const WORKLOAD_PATHS = {
  [TOKEN_PATH]: {
    post: {
      operationId: 'exchangeToken',
      tags: ['Workload rules'],
      summary: 'Exchange the token of a workload for one of an automation',
      description: 'RFC 8693. A workload rule of the automation says which tokens are taken.',
      security: [],
      requestBody: {
        required: true,
        content: { 'application/x-www-form-urlencoded': { schema: schema('TokenExchange') } },
      },
      responses: {
        '200': json('A token of minutes for the automation.', 'ExchangedToken'),
        '400': refused('The request, or its token, is refused; or the token was used before.'),
        '413': refused('The body is larger than 32 KiB.'),
        '429': later('There are too many calls.'),
        '503': later('The issuer of the token, or the database, cannot be reached.'),
      },
    },
  },
}

import { managed } from '../designer/managed-routes.ts'
import {
  body,
  closed,
  integer,
  json,
  parameter,
  problem,
  refusedTokens,
  schemaOfBody,
  text,
} from './parts.ts'

/** The schemas of what files keep. */
export const MANAGED_SCHEMAS = {
  ManagedRequest: schemaOfBody(managed),
  Managed: closed({
    managed_by: text,
    begun: { ...integer, description: 'The resources that were not managed by it before.' },
    ended: { ...integer, description: 'The resources that are not managed by it any more.' },
  }),
}

/** The paths of what files keep. */
export const MANAGED_PATHS = {
  '/designer/v2/managed/{manager}': {
    parameters: [
      parameter('manager', 'path', {
        description: 'The name of what applies the files.',
        schema: { type: 'string', pattern: '^[\\w.:/@-]{1,100}$' },
      }),
    ],
    put: {
      operationId: 'setManagedResources',
      tags: ['Platform'],
      summary: 'Mark the resources that files keep',
      description:
        'These and no others are managed by that name from then on. Their pages say so, and ' +
        'their answers have `managed_by`; they may be changed as before.',
      requestBody: body('ManagedRequest', { resources: [{ kind: 'llm_connection', id: '7' }] }),
      responses: {
        '200': json('How many marks begin and end.', 'Managed'),
        ...refusedTokens('No token of the whole organization, and no session.'),
        '400': problem('The body is not JSON.'),
        '403': problem('Not an admin of the organization, or a token without `settings`.'),
        '409': problem('There are too many.'),
        '413': problem('The body is larger than 2 MiB.'),
        '415': problem('Not application/json.'),
        '422': problem('A name or a resource is not valid; details.problems has each place.'),
      },
    },
  },
}

import { DELIVERY_STATES } from '../../../platform/triggers/trigger-deliveries.ts'
import {
  closed,
  cursor,
  json,
  list,
  moment,
  nullable,
  parameter,
  problem,
  refusedTokens,
  retryAfter,
  schema,
  text,
  uuid,
} from './parts.ts'

const delivery = {
  delivery_id: { ...text, description: 'By which the sender identifies it.' },
  status: { ...text, enum: DELIVERY_STATES },
  kickoff_id: {
    ...nullable('string', { format: 'uuid', description: 'The run that it started.' }),
  },
  reason: nullable('string', { description: 'Why it started no run.' }),
}

/** The schemas of what triggers receive. */
export const TRIGGER_SCHEMAS = {
  Delivery: closed({ ...delivery, received_at: moment }),
  Deliveries: closed({
    deliveries: list(schema('Delivery')),
    next_cursor: nullable('string', { description: 'Null on the last page.' }),
  }),
  Received: closed({
    ...delivery,
    repeated: { type: 'boolean', description: 'A delivery with this id was received before.' },
  }),
  Greeting: {
    type: 'object',
    description: 'The answer to a message that only tries the address.',
    properties: { pong: { const: true }, challenge: text },
  },
}

const UNAVAILABLE = { '503': problem('The database is unavailable. Try again.', retryAfter) }

/** The paths of triggers that no declaration has. */
export const TRIGGER_PATHS = {
  '/designer/v2/automations/{automation_id}/triggers/{trigger_id}/deliveries': {
    parameters: [
      parameter('automation_id', 'path'),
      parameter('trigger_id', 'path', { schema: uuid }),
    ],
    get: {
      operationId: 'listDeliveries',
      tags: ['Triggers'],
      summary: 'The deliveries of a trigger, newest first',
      parameters: [
        parameter('limit', 'query', {
          schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
        }),
        cursor,
      ],
      responses: {
        '200': json('The deliveries of the last 30 days.', 'Deliveries'),
        '400': problem('limit or cursor is not valid.'),
        ...refusedTokens('No token of the whole organization, and no session.'),
        '403': problem('A role, or a scope of the token, that does not allow this.'),
        '404': problem('The organization has no such automation, or it no such trigger.'),
        ...UNAVAILABLE,
      },
    },
  },
  '/hooks/{trigger_id}': {
    parameters: [parameter('trigger_id', 'path', { schema: uuid })],
    post: {
      operationId: 'deliver',
      tags: ['Triggers'],
      summary: 'Deliver an event of a third party',
      description: 'Signed as the scheme of the trigger has it, at most 1 MiB.',
      security: [],
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: {} },
          'application/x-www-form-urlencoded': { schema: { type: 'object' } },
        },
      },
      responses: {
        '200': {
          description: 'It starts no run, or its id was received before, or it tries the address.',
          content: {
            'application/json': { schema: { anyOf: [schema('Received'), schema('Greeting')] } },
          },
        },
        '202': json('It started a run.', 'Received'),
        '400': problem('It is not JSON, or was signed more than 5 minutes from now.'),
        '404': problem('No trigger has this address, or the signature is wrong.'),
        '409': problem('The automation is stopped or being deleted.'),
        '413': problem('The body is larger than 1 MiB.'),
        '415': problem('Neither JSON nor a form, or compressed.'),
        '422': problem('The inputs that the trigger makes of it are not those of the automation.'),
        '429': problem('There are too many calls, or runs in the queue.', retryAfter),
        ...UNAVAILABLE,
        '504': problem('The filter and the mapping take too long; the trigger is paused.'),
      },
    },
  },
}

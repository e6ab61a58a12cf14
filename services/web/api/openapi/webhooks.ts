import { EVENT_TYPES } from '../../../platform/webhooks/webhooks.ts'
import * as s from './parts.ts'

const headerOf = (name: string, description: string) =>
  s.parameter(name, 'header', { required: true, description })

const message = s.named('WebhookMessage', {
  type: 'object',
  required: ['type', 'timestamp', 'data'],
  properties: {
    type: {
      ...s.text,
      description: 'Types may be added; leave out those that you do not know.',
      examples: [...EVENT_TYPES, 'webhook_test'],
    },
    timestamp: s.moment,
    data: {
      type: 'object',
      description:
        'The event, beside whose it is. `run_completed`, `run_failed` and `run_stopped` have the ' +
        'end of the run. Fields may be added.',
      additionalProperties: true,
      properties: {
        kickoff_id: s.uuid,
        automation_id: s.uuid,
        number: s.say(s.integer, 'The number of the event within its run.'),
        attempt: s.integer,
        truncated: s.say(s.truth, 'The event is larger than 256 KiB: read it from the API.'),
      },
    },
  },
})

/** What the platform sends to the receivers of an automation's webhooks. */
export const WEBHOOKS = {
  runEvent: {
    post: {
      operationId: 'receiveRunEvent',
      tags: ['Messages'],
      summary: 'An event of a run',
      description:
        'Signed as Standard Webhooks has it. Messages of one run come in order, and may come ' +
        'more than once, under the same `webhook-id`.',
      security: [],
      parameters: [
        headerOf('webhook-id', 'The id of the message, the same at each try.'),
        headerOf('webhook-timestamp', 'When it was sent, in seconds since 1970.'),
        headerOf('webhook-signature', '`v1,` and the signature; two while a key is replaced.'),
      ],
      requestBody: { required: true, content: { 'application/json': { schema: message } } },
      responses: {
        '2XX': { description: 'The message is accepted. Within 15 seconds; no body is read.' },
        '410': { description: 'The webhook is paused.' },
        default: { description: 'The message is sent again later.' },
      },
    },
  },
}

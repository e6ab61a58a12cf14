import { EVENT_TYPES } from '../../../platform/webhooks/webhooks.ts'
import type { WebConfig } from '../../env.ts'
import { cookieNames } from '../../gate/callers/cookies.ts'
import type { Mounted } from '../../gate/callers/declared-right.ts'
import { NOUNS } from '../../nouns/list.ts'
import { tagOf } from './describe-resource.ts'
import { describeRoutes } from './describe-routes.ts'
import { definitionsIn } from './parts.ts'
import * as s from './parts.ts'

type Config = Pick<WebConfig, 'PLATFORM_BASE_URL' | 'PLATFORM_API_PREFIX' | 'PLATFORM_VERSION'>

const TAGS = [
  { name: 'Automations', description: 'Start a run, follow it, stop it.' },
  { name: 'Designer', description: 'Projects, their versions and their runs.' },
  { name: 'Budgets', description: 'Limits on what models cost, and what is used of them.' },
  { name: 'Crews', description: 'Automations that are made from sources.' },
  { name: 'Tools', description: 'A Python package index for the tools of crews.' },
  { name: 'Platform', description: 'For probes, and for clients that set themselves up.' },
  { name: 'Messages', description: 'What the platform sends to the receivers of webhooks.' },
]

/** Describes every API that callers may use, by the routes of an app. */
export function describeApi(config: Config, routes: readonly Mounted[]) {
  const paths = describeRoutes(routes)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Platform API',
      version: config.PLATFORM_VERSION,
      description:
        'Start automations, design crews, publish tool packages. Errors are RFC 9457 problems.',
    },
    servers: [{ url: config.PLATFORM_BASE_URL }],
    tags: [...TAGS, ...NOUNS.map((noun) => noun.read(tagOf))],
    security: [{ bearer: [] }],
    paths,
    webhooks: WEBHOOKS,
    components: {
      securitySchemes: waysToCall(config),
      schemas: definitionsIn([paths, WEBHOOKS]),
    },
  }
}
const waysToCall = ({ PLATFORM_BASE_URL: baseUrl }: Config) => ({
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A static token; for automations also an access token of the OAuth 2.0 client ' +
      'credentials grant, or a token that a workload got at `/oauth/token`. Designer and tools ' +
      'take a token of the whole organization.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: cookieNames(baseUrl).session,
    description:
      'The session of a person. For anything but reading, its CSRF token is in the header ' +
      '`X-CSRF-Token`.',
  },
  basic: {
    type: 'http',
    scheme: 'basic',
    description: 'The same token, as pip and twine send it: with the user `__token__`.',
  },
})

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
const WEBHOOKS = {
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

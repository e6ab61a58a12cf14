import { automationPath } from '../automation/automation-urls.ts'
import type { WebConfig } from '../../env.ts'
import { challenge, parameter, problem, refusedTokens, retryAfter } from './parts.ts'

const answer = (description: string, type = 'application/a2a+json', other?: string) => ({
  description,
  content: {
    [type]: { schema: { type: 'object' } },
    ...(other === undefined ? {} : { [other]: { schema: { type: 'string' } } }),
  },
})

const version = parameter('A2A-Version', 'header', {
  required: true,
  schema: { type: 'string', example: '1.0' },
})

const refused = {
  ...refusedTokens('No token, or one that does not open this address.'),
  '403': problem('The token lacks a scope.', challenge),
  '503': problem('The database or the identity provider is unavailable. Try again.', retryAfter),
}

/** An operation of A2A at its address of the HTTP binding. */
const operation = (operationId: string, summary: string, extra: object = {}) => ({
  operationId,
  tags: ['Automations'],
  summary,
  parameters: [version],
  responses: {
    '200': answer('The result, as A2A 1.0 has it.', undefined, 'text/event-stream'),
    '400': answer('An error of A2A: `error.details` has its reason.'),
    '404': answer('No such task, or no such operation.'),
    ...refused,
  },
  ...extra,
})

const withBody = (type: string, example: object) => ({
  requestBody: { content: { [type]: { schema: { type: 'object' }, example } } },
})

const MESSAGE = { messageId: 'a-new-one', role: 'ROLE_USER', parts: [{ data: { topic: 'tides' } }] }
const JSON_TYPE = 'application/json'

const rpc = {
  operationId: 'a2a',
  tags: ['Automations'],
  summary: 'Call the automation as an agent of A2A 1.0, by JSON-RPC',
  parameters: [version],
  ...withBody(JSON_TYPE, {
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: MESSAGE },
  }),
  responses: {
    '200': answer('The response: a result, or an error of A2A.', JSON_TYPE, 'text/event-stream'),
    '413': answer('The body is larger than 256 KiB.', JSON_TYPE),
    '415': answer('Not application/json.', JSON_TYPE),
    ...refused,
  },
}

const card = {
  operationId: 'a2aCard',
  tags: ['Automations'],
  summary: 'Read the agent card that anybody may read',
  security: [],
  responses: {
    '200': answer('A signed card without the name and the inputs.', JSON_TYPE),
    '304': { description: 'It is the one of If-None-Match.' },
    '404': problem('The id is not a UUID.'),
  },
}

const id = parameter('automation_id', 'path')
const taskId = parameter('task_id', 'path', {
  description:
    'The kickoff id; to cancel or to subscribe with `:cancel` or `:subscribe` behind it.',
  schema: { type: 'string' },
})
const configId = parameter('config_id', 'path')
const verb = parameter('verb', 'path', { schema: { type: 'string', enum: [':send', ':stream'] } })
const sent = withBody('application/a2a+json', { message: MESSAGE })
const config = withBody('application/a2a+json', { url: 'https://agent.example.com/tasks' })

/** The paths at which an automation is an agent of A2A. */
export function a2aPaths(settings: Pick<WebConfig, 'PLATFORM_API_PREFIX'>) {
  const one = `${automationPath(settings, '{automation_id}')}/a2a`
  const configs = `${one}/tasks/{task_id}/pushNotificationConfigs`
  return {
    [one]: { parameters: [id], post: rpc },
    [`${one}/.well-known/agent-card.json`]: { parameters: [id], get: card },
    [`${one}/extendedAgentCard`]: {
      parameters: [id],
      get: operation('a2aExtendedCard', 'Read the agent card with the name and the inputs'),
    },
    [`${one}/message{verb}`]: {
      parameters: [id, verb],
      post: operation('a2aSend', 'Send a message, and wait or follow the task', sent),
    },
    [`${one}/tasks`]: {
      parameters: [id],
      get: operation('a2aTasks', 'List the tasks of the caller'),
    },
    [`${one}/tasks/{task_id}`]: {
      parameters: [id, taskId],
      get: operation('a2aTask', 'Get a task, or subscribe to it'),
      post: operation('a2aChangeTask', 'Cancel a task, or subscribe to it'),
    },
    [configs]: {
      parameters: [id, taskId],
      get: operation('a2aPushConfigs', 'List the push notification configs of a task'),
      post: operation('a2aCreatePushConfig', 'Create a push notification config', config),
    },
    [`${configs}/{config_id}`]: {
      parameters: [id, taskId, configId],
      get: operation('a2aPushConfig', 'Get a push notification config'),
      delete: operation('a2aDeletePushConfig', 'Delete a push notification config'),
    },
  }
}

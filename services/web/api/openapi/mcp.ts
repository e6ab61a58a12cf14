import { automationPath } from '../automation/automation-urls.ts'
import type { WebConfig } from '../../env.ts'
import {
  challenge,
  idempotencyKey,
  parameter,
  problem,
  refusedTokens,
  retryAfter,
} from './parts.ts'

const message = (description: string) => ({
  description,
  content: { 'application/json': { schema: { type: 'object' } } },
})

const post = (operationId: string, tools: string) => ({
  operationId,
  tags: ['Automations'],
  summary: `Call ${tools} by the Model Context Protocol`,
  description:
    'Streamable HTTP without sessions, in the versions 2026-07-28, 2025-11-25 and 2025-06-18: ' +
    '`initialize` or `server/discover`, `tools/list`, `tools/call`, `ping`, and in sessions ' +
    '`tasks/get`, `tasks/result`, `tasks/cancel`. Takes a token with the scopes `kickoff` and ' +
    '`read`.',
  parameters: [idempotencyKey],
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: { type: 'object' },
        example: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      },
    },
  },
  responses: {
    '200': {
      description: 'The response; as a stream behind notifications of progress, if asked for.',
      content: {
        'application/json': { schema: { type: 'object' } },
        'text/event-stream': { schema: { type: 'string' } },
      },
    },
    '202': { description: 'A notification was taken.' },
    '400': message('An error of JSON-RPC: the message, its version or its headers are wrong.'),
    ...refusedTokens('No token, or one that does not open this address.'),
    '403': problem('The token lacks a scope, or a page of another origin calls.', challenge),
    '404': message('An error of JSON-RPC: 2026-07-28 has no such method.'),
    '413': problem('The body is larger than 256 KiB.'),
    '415': problem('Not application/json.'),
    '503': problem('The database or the identity provider is unavailable. Try again.', retryAfter),
  },
})

/** The paths at which automations are tools: all of a token, and one. */
export const mcpPaths = (config: Pick<WebConfig, 'PLATFORM_API_PREFIX'>) => ({
  '/mcp': { post: post('mcp', 'the automations of a token') },
  [`${automationPath(config, '{automation_id}')}/mcp`]: {
    parameters: [parameter('automation_id', 'path')],
    post: post('automationMcp', 'the automation'),
  },
})

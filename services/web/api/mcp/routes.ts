import { Hono } from 'hono'
import type { Context } from 'hono'
import { randomUUID } from 'node:crypto'
import type { Reach } from '../../../platform/automations/startable-automations.ts'
import { AppError, toError } from '../../../shared/errors.ts'
import type { Gate } from '../../gate/access-token/gate.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import { refuseMethod } from '../../http/refuse-method.ts'
import type { McpCall, WebDeps } from '../../context.ts'
import { createAutomationDoors } from '../automation/automation-door.ts'
import { automationPath } from '../automation/automation-urls.ts'
import { requireBearer } from '../automation/bearer.ts'
import { STREAM_HEADERS } from '../automation/event-stream.ts'
import { callTool } from './call-tool.ts'
import type { ToolCall } from './call-tool.ts'
import { createMcpDoor, MCP_SCOPES } from './door.ts'
import { metaOf, readEra, TASKS_EXTENSION, versionFor, VERSIONS } from './era.ts'
import type { Era } from './era.ts'
import { readMessage, toErrorResponse, toResponse } from '../json-rpc.ts'
import type { Fields, Message } from '../json-rpc.ts'
import { CODES, describeWrong } from './messages.ts'
import type { Fault, Outcome, Progress } from './messages.ts'
import { askResource, RESOURCE_METHODS } from './resources.ts'
import { askTask, TASK_METHODS, TASKS } from './tasks.ts'
import { listTools } from './tools.ts'
import { refusedCalls } from '../automation/api-route.ts'
import { describing } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'

const SERVER_INFO_KEY = 'io.modelcontextprotocol/serverInfo'
const INSTRUCTIONS =
  'Each tool starts a run of an automation and answers with its output. A run may take minutes: ' +
  'ask for progress, and give each call a key of its own as `idempotency_key` in `_meta`, so ' +
  'that a call that is sent twice starts one run.'

const object = { schema: { type: 'object' } }
const message = (description: string) => ({ description, content: { 'application/json': object } })
const operation = describing({ tag: 'Automations' })
const calling = (operationId: string, tools: string) =>
  operation(operationId, `Call ${tools} by the Model Context Protocol`, {
    description:
      'Streamable HTTP without sessions, in the versions 2026-07-28, 2025-11-25 and 2025-06-18: ' +
      '`initialize` or `server/discover`, `tools/list`, `tools/call`, `ping`, `resources/list`, ' +
      '`resources/templates/list`, `resources/read`, `tasks/get`, `tasks/cancel`, and ' +
      '`tasks/result` in sessions, `tasks/update` without. Takes a token with the scopes ' +
      '`kickoff` and `read`.',
    parameters: [s.idempotencyKey],
    body: {
      content: {
        'application/json': { ...object, example: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
      },
    },
    200: {
      description: 'The response; as a stream behind notifications of progress, if asked for.',
      content: { 'application/json': object, 'text/event-stream': { schema: s.text } },
    },
    202: 'A notification was taken.',
    ...refusedCalls,
    ...s.refusedTokens('No token, or one that does not open this address.'),
    400: message('An error of JSON-RPC: the message, its version or its headers are wrong.'),
    403: s.problem('The token lacks a scope, or a page of another origin calls.', s.challenge),
    404: message('An error of JSON-RPC: 2026-07-28 has no such method.'),
    413: 'The body is larger than 256 KiB.',
    415: 'Not application/json.',
  })
const callAll = calling('mcp', 'the automations of a token')
const callOne = calling('automationMcp', 'the automation')

/**
 * Mounts the automations as tools of MCP: all that a token may start, and one by one. Nothing is
 * kept between two calls.
 */
export function mcpRoutes(deps: WebDeps, gate: Gate): Hono<McpCall> {
  const { sql, config } = deps
  const routes = new Hono<McpCall>()
  const one = `${automationPath(config, ':automationId')}/mcp`
  routes.use('/mcp', requireBearer(deps, createMcpDoor(sql, gate)))
  routes.use(one, requireBearer(deps, createAutomationDoors(sql, gate)(...MCP_SCOPES)))
  routes.post('/mcp', declareRight('token', callAll), (c) => answer(c, deps, c.var.reach))
  routes.post(one, declareRight('token', callOne), (c) => {
    const { id: deploymentId, organizationId } = c.var.automation
    return answer(c, deps, { organizationId, deploymentId, clientId: null })
  })
  for (const path of ['/mcp', one]) routes.all(path, refuseMethod('POST'))
  return routes
}

async function answer(c: Context<McpCall>, deps: WebDeps, reach: Reach): Promise<Response> {
  refuseForeignPages(c, deps)
  const message = await readMessage(c.req.raw, describeWrong)
  if ('error' in message) {
    return answerFault(c, message.id, { ...message.error, status: 400 })
  }
  const { id, method } = message
  c.var.wide['mcp_method'] = method
  const era = readEra(message, (name) => c.req.header(name))
  if (typeof era === 'object') return answerFault(c, id, era)
  // Notifications change nothing: a run goes on without its caller.
  if (id === undefined) return c.body(null, 202)
  const progressToken = readProgressToken(c, message)
  const outcome = await perform(c, deps, { request: { ...message, id }, reach, era, progressToken })
  if ('fault' in outcome) return answerFault(c, id, outcome.fault)
  const toAnswer = (result: Fields) => toResponse(id, inEra(result, era, method))
  if ('result' in outcome) return c.json(toAnswer(outcome.result))
  const { progress } = outcome
  if (progressToken === undefined) return c.json(toAnswer(await toEnd(progress)))
  const events = toEvents(progress, (thrown) => breakOff(deps, id, thrown), toAnswer)
  return c.body(ReadableStream.from(events), 200, STREAM_HEADERS)
}

/** A page elsewhere has no business here, whatever its browser was led to (MCP, Security). */
function refuseForeignPages(c: Context, { config }: WebDeps): void {
  const origin = c.req.header('origin')
  if (origin === undefined || origin === new URL(config.PLATFORM_BASE_URL).origin) return
  throw new AppError('forbidden', 'Pages of other origins may not call this address.')
}

/** Only a caller that reads streams is told of progress. */
function readProgressToken(c: Context, { params }: Message): unknown {
  const { progressToken } = metaOf(params)
  const isStream = /\btext\/event-stream\b/i.test(c.req.header('accept') ?? '')
  const isToken = typeof progressToken === 'string' || Number.isSafeInteger(progressToken)
  return isStream && isToken ? progressToken : undefined
}

/** Performs a request of one of the methods that its version has. */
async function perform(c: Context<McpCall>, deps: WebDeps, asked: ToolCall): Promise<Outcome> {
  const { request, reach, era } = asked
  const { method, params } = request
  if (method === 'tools/call') return callTool(c, deps, asked)
  if (method === 'tools/list') return listTools(deps.sql, reach, { cursor: params['cursor'], era })
  if (method === 'ping') return { result: {} }
  if (deps.traces && RESOURCE_METHODS.has(method)) return askResource(c, deps, asked)
  if (TASK_METHODS[era].has(method)) return askTask(c, deps, asked)
  const introduction = introduce(c, deps, asked)
  if (introduction) return { result: introduction }
  const status = era === 'session' ? 200 : 404
  return { fault: { code: CODES.unknownMethod, message: `There is no method ${method}.`, status } }
}

/** Says what the server is and has, as either kind of version asks for it. */
function introduce(
  c: Context<McpCall>,
  { traces, config }: WebDeps,
  { request: { method, params }, era }: ToolCall,
): Fields | undefined {
  const offered = { tools: {}, ...(traces && { resources: {} }) }
  const serverInfo = { name: 'crew-platform', version: config.PLATFORM_VERSION }
  const instructions = INSTRUCTIONS
  if (method === 'initialize' && era === 'session') {
    // It is not kept: a client that repeats it tells its requests from those of others.
    c.header('mcp-session-id', randomUUID())
    const capabilities = { ...offered, tasks: TASKS }
    const protocolVersion = versionFor(params['protocolVersion'])
    return { protocolVersion, serverInfo, capabilities, instructions }
  }
  if (method === 'server/discover' && era === 'per-request') {
    const _meta = { [SERVER_INFO_KEY]: serverInfo }
    const capabilities = { ...offered, extensions: { [TASKS_EXTENSION]: {} } }
    return { supportedVersions: VERSIONS, capabilities, instructions, _meta }
  }
  return undefined
}

/** What 2026-07-28 wants of each result: nothing of it is to be kept. */
function inEra(result: Fields, era: Era, method: string): Fields {
  if (era === 'session') return result
  const isListed =
    method === 'tools/list' || method === 'server/discover' || RESOURCE_METHODS.has(method)
  return {
    resultType: 'complete',
    ...result,
    ...(isListed && { ttlMs: 0, cacheScope: 'private' }),
  }
}

const answerFault = (c: Context, id: number | string | undefined, fault: Fault): Response =>
  c.json(toErrorResponse(id, fault), fault.status)

async function toEnd(progress: Progress): Promise<Fields> {
  for (;;) {
    const { done, value } = await progress.next()
    if (done) return value
  }
}

/** Writes progress as notifications, and the response behind them. */
async function* toEvents(
  progress: Progress,
  breakOff: (thrown: unknown) => Fields,
  toAnswer: (result: Fields) => Fields,
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder()
  const toEvent = (message: Fields) =>
    encoder.encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
  try {
    for (;;) {
      const { done, value } = await progress.next()
      if (done) return yield toEvent(toAnswer(value))
      yield toEvent({ jsonrpc: '2.0', method: 'notifications/progress', params: value })
    }
  } catch (thrown) {
    yield toEvent(breakOff(thrown))
  } finally {
    await progress.return({})
  }
}

function breakOff({ log }: WebDeps, id: number | string, thrown: unknown): Fields {
  log.warn({ reason: toError(thrown).message }, 'a call of a tool broke off')
  const message = 'The platform cannot follow the run right now, which keeps running.'
  return toErrorResponse(id, { code: CODES.internal, message })
}

import { Hono } from 'hono'
import type { Context } from 'hono'
import { isUuid } from '../../../platform/automations/automations.ts'
import { isObject } from '../../../shared/is-object.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import type { AuthorizedCall, WebDeps } from '../../context.ts'
import type { Gate } from '../../gate/access-token/gate.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import { answerNotFound } from '../../http/errors.ts'
import { refuseMethod } from '../../http/refuse-method.ts'
import { createAutomationDoors } from '../automation/automation-door.ts'
import { automationPath } from '../automation/automation-urls.ts'
import { requireBearer } from '../automation/bearer.ts'
import { BODY_BYTES_MAX } from '../automation/kickoff-request.ts'
import { readMessage, RPC_CODES, toErrorResponse, toResponse } from '../json-rpc.ts'
import type { Fields } from '../json-rpc.ts'
import { answerTo } from './answer-to.ts'
import type { Binding } from './answer-to.ts'
import { createCards, KEYS_PATH, publicCard, VERSION } from './card.ts'
import { refusal, wrongParams } from './refusals.ts'
import { refusedCalls } from '../automation/api-route.ts'
import { describing } from '../openapi/operation.ts'
import type { Operation } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'

const CACHED = { 'cache-control': 'public, max-age=300' }
const A2A_TYPE = 'application/a2a+json'

const answer = (description: string, type = A2A_TYPE, other: object = {}) => ({
  description,
  content: { [type]: { schema: { type: 'object' } }, ...other },
})
const stream = { 'text/event-stream': { schema: s.text } }
const MESSAGE = { messageId: 'a-new-one', role: 'ROLE_USER', parts: [{ data: { topic: 'tides' } }] }
const bodyOf = (example: object, type = A2A_TYPE) => ({
  content: { [type]: { schema: { type: 'object' }, example } },
})
const version = s.parameter('A2A-Version', 'header', {
  required: true,
  schema: { ...s.text, example: VERSION },
})
const operation = describing({
  tag: 'Automations',
  ...refusedCalls,
  ...s.refusedTokens('No token, or one that does not open this address.'),
  403: s.problem('The token lacks a scope.', s.challenge),
})
const rpc = operation('a2a', 'Call the automation as an agent of A2A 1.0, by JSON-RPC', {
  parameters: [version],
  body: bodyOf(
    { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: MESSAGE } },
    'application/json',
  ),
  200: answer('The response: a result, or an error of A2A.', 'application/json', stream),
  413: answer('The body is larger than 256 KiB.', 'application/json'),
  415: answer('Not application/json.', 'application/json'),
})
const card = describing({ tag: 'Automations' })(
  'a2aCard',
  'Read the agent card that anybody may read',
  {
    200: answer('A signed card without the name and the inputs.', 'application/json'),
    304: 'It is the one of If-None-Match.',
    404: 'The id is not a UUID.',
  },
)
const taskId = s.parameter('task_id', 'path', {
  description:
    'The kickoff id; to cancel or to subscribe with `:cancel` or `:subscribe` behind it.',
  schema: s.text,
})
const verb = s.parameter('verb', 'path', { schema: s.words([':send', ':stream']) })
const MESSAGES = { parameters: [verb], body: bodyOf({ message: MESSAGE }) }
const OF_TASK = { parameters: [taskId] }
const CONFIG = { ...OF_TASK, body: bodyOf({ url: 'https://agent.example.com/tasks' }) }

/** An operation at its address of the HTTP binding. */
const at = (operationId: string, summary: string, more: Partial<typeof MESSAGES> = {}) =>
  operation(operationId, summary, {
    ...more,
    parameters: [...(more.parameters ?? []), version],
    200: answer('The result, as A2A 1.0 has it.', A2A_TYPE, stream),
    400: answer('An error of A2A: `error.details` has its reason.'),
    404: answer('No such task, or no such operation.'),
  })

const extendedCard = at('a2aExtendedCard', 'Read the agent card with the name and the inputs')
const listTasks = at('a2aTasks', 'List the tasks of the caller')
const listConfigs = at('a2aPushConfigs', 'List the push notification configs of a task', OF_TASK)
const addConfig = at('a2aCreatePushConfig', 'Create a push notification config', CONFIG)
const getConfig = at('a2aPushConfig', 'Get a push notification config', OF_TASK)
const removeConfig = at('a2aDeletePushConfig', 'Delete a push notification config', OF_TASK)
const getTask = at('a2aTask', 'Get a task, or subscribe to it', OF_TASK)
const changeTask = at('a2aChangeTask', 'Cancel a task, or subscribe to it', OF_TASK)
const send = at('a2aSend', 'Send a message, and wait or follow the task', MESSAGES)

type Address = readonly [method: string, path: string, operation: string, described: Operation]
const CONFIGS = '/tasks/:taskId/pushNotificationConfigs'

/** The operations at the addresses of the HTTP binding (§11.3), by method and path. */
const ADDRESSES: readonly Address[] = [
  ['GET', '/extendedAgentCard', 'GetExtendedAgentCard', extendedCard],
  ['GET', '/tasks', 'ListTasks', listTasks],
  ['GET', CONFIGS, 'ListTaskPushNotificationConfigs', listConfigs],
  ['POST', CONFIGS, 'CreateTaskPushNotificationConfig', addConfig],
  ['GET', `${CONFIGS}/:configId`, 'GetTaskPushNotificationConfig', getConfig],
  ['DELETE', `${CONFIGS}/:configId`, 'DeleteTaskPushNotificationConfig', removeConfig],
  ['GET', '/tasks/:taskId', 'GetTask', getTask],
  ['POST', '/tasks/:taskId', '', changeTask],
  // Behind the word stands a colon: the router reads the rest of the segment as a parameter.
  ['POST', '/message:verb', '', send],
]

/** The operations that the ends of paths name. */
const VERBS: Readonly<Record<string, string>> = {
  ':send': 'SendMessage',
  ':stream': 'SendStreamingMessage',
  ':cancel': 'CancelTask',
  ':subscribe': 'SubscribeToTask',
}

/** Mounts each automation as an agent of A2A, beside its API: JSON-RPC, and HTTP with JSON. */
export function a2aRoutes(deps: WebDeps, gate: Gate): Hono<AuthorizedCall> {
  const { sql, config } = deps
  const cards = createCards(deps)
  const routes = new Hono<AuthorizedCall>()
  const one = `${automationPath(config, ':automationId')}/a2a`
  const call = (c: Context<AuthorizedCall>) => ({ c, deps, cards })

  routes.get(KEYS_PATH, declareRight('anybody'), async (c) =>
    c.json({ keys: await cards.published() }, 200, CACHED),
  )
  routes.get(`${one}/.well-known/agent-card.json`, declareRight('anybody', card), async (c) => {
    const id = c.req.param('automationId') ?? ''
    if (!isUuid(id)) return answerNotFound(c)
    const { card: signed, tag } = await cards.sign(publicCard(config, id.toLowerCase()))
    const headers = { ...CACHED, etag: `"${tag}"` }
    if (c.req.header('if-none-match') === headers.etag) return c.body(null, 304, headers)
    return c.json(signed, 200, headers)
  })

  const authenticate = requireBearer(deps, createAutomationDoors(sql, gate)('kickoff', 'read'))
  const paths = new Set(ADDRESSES.map(([, path]) => one + path))
  for (const path of [one, ...paths]) routes.use(path, authenticate)
  routes.post(one, declareRight('token', rpc), async (c) => {
    const binding = createRpcBinding()
    return answerTo(call(c), binding, async () => {
      const message = await readMessage(c.req.raw, wrongMessage)
      binding.id = message.id
      if ('error' in message) return { error: message.error }
      const { id, method, params } = message
      if (id === undefined) return { error: { code: RPC_CODES.invalidRequest, message: NO_ID } }
      c.var.wide['a2a_method'] = method
      requireVersion(c)
      return { method, params }
    })
  })
  routes.all(one, refuseMethod('POST'))
  for (const [method, path, name, described] of ADDRESSES) {
    routes.on(method, one + path, declareRight('token', described), (c) =>
      answerTo(call(c), HTTP, async () => {
        requireVersion(c)
        return readHttp(c, name)
      }),
    )
  }
  return routes
}

const NO_ID = 'A request has an "id", a text or a whole number.'

const wrongMessage = (): string =>
  'The body is one request of JSON-RPC 2.0: {"jsonrpc": "2.0", "id": 1, "method": "GetTask", ' +
  '"params": {…}}.'

/** A call without a version is one of 0.3 (§3.6.2). */
function requireVersion(c: Context): void {
  const asked = c.req.header('a2a-version') ?? c.req.query('A2A-Version') ?? ''
  if (/^1\.0(\.\d{1,5})?$/.test(asked)) return
  const given = asked === '' ? 'none' : JSON.stringify(asked.slice(0, 20))
  throw refusal(
    'VERSION_NOT_SUPPORTED',
    `A2A-Version is ${VERSION} here; it is ${given}. Send the header A2A-Version: ${VERSION}.`,
  )
}

/** Writes answers as JSON-RPC does: what a caller did wrong is part of an answer of HTTP 200. */
function createRpcBinding(): Binding & { id: number | string | undefined } {
  return {
    id: undefined,
    type: 'application/json',
    toResult(result) {
      return toResponse(this.id ?? 0, result)
    },
    toError({ code, message, details }) {
      return toErrorResponse(this.id, { code, message, data: details })
    },
    statusOf: ({ status }) => (status === 400 || status === 404 ? 200 : status),
  }
}

/** Writes answers as HTTP with JSON has them. */
const HTTP: Binding = {
  type: A2A_TYPE,
  toResult: (result) => result,
  toError: ({ status: code, name: status, message, details }) => ({
    error: { code, status, message, details },
  }),
  statusOf: ({ status }) => status,
}

/** Reads the parameters of an operation off the path, the query and the body. */
async function readHttp(c: Context<AuthorizedCall>, operation: string) {
  const { taskId, configId, verb: ofMessage } = c.req.param()
  const [, id = '', ofTask = ''] = /^([^:]*)(:.*)?$/.exec(taskId ?? '') ?? []
  const verb = ofMessage ?? ofTask
  const isOf = (ofMessage === undefined) === (verb === ':cancel' || verb === ':subscribe')
  const method = verb === '' ? operation : (isOf && VERBS[verb]) || ''
  const body = c.req.method === 'POST' ? await readBody(c) : readQuery(c)
  return { method, params: { ...body, ...idsOf(operation, id, configId) } }
}

/** Those of what hangs on a task name the task beside it. */
function idsOf(operation: string, id: string, configId: string | undefined): Fields {
  if (operation.includes('PushNotification')) {
    return { taskId: id, ...(configId !== undefined && { id: configId }) }
  }
  return id === '' ? {} : { id }
}

/** A subscription and a cancellation may have no body. */
async function readBody(c: Context): Promise<Fields> {
  const { 'content-length': length = '0', 'transfer-encoding': chunked } = c.req.header()
  if (length === '0' && chunked === undefined) return {}
  const body = await readJson(c.req.raw, BODY_BYTES_MAX, A2A_TYPE)
  if (isObject(body)) return body
  throw wrongParams('The body is a JSON object.')
}

const NUMBERS: ReadonlySet<string> = new Set(['pageSize', 'historyLength'])

function readQuery(c: Context): Fields {
  const entries = Object.entries(c.req.query()).map(([name, text]) => {
    if (NUMBERS.has(name) && /^\d{1,9}$/.test(text)) return [name, Number(text)]
    return [
      name,
      name === 'includeArtifacts' && /^(true|false)$/.test(text) ? text === 'true' : text,
    ]
  })
  return Object.fromEntries(entries)
}

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
import { BODY_BYTES_MAX } from '../automation/kickoff.ts'
import { readMessage, RPC_CODES, toErrorResponse, toResponse } from '../json-rpc.ts'
import type { Fields } from '../json-rpc.ts'
import { answerTo } from './answer-to.ts'
import type { Binding } from './answer-to.ts'
import { createCards, KEYS_PATH, publicCard, VERSION } from './card.ts'
import { refusal, wrongParams } from './refusals.ts'

const CACHED = { 'cache-control': 'public, max-age=300' }
const A2A_TYPE = 'application/a2a+json'

/** The operations at the addresses of the HTTP binding (§11.3), by method and path. */
const ADDRESSES: readonly (readonly [method: string, path: string, operation: string])[] = [
  ['GET', '/extendedAgentCard', 'GetExtendedAgentCard'],
  ['GET', '/tasks', 'ListTasks'],
  ['GET', '/tasks/:taskId/pushNotificationConfigs', 'ListTaskPushNotificationConfigs'],
  ['POST', '/tasks/:taskId/pushNotificationConfigs', 'CreateTaskPushNotificationConfig'],
  ['GET', '/tasks/:taskId/pushNotificationConfigs/:configId', 'GetTaskPushNotificationConfig'],
  [
    'DELETE',
    '/tasks/:taskId/pushNotificationConfigs/:configId',
    'DeleteTaskPushNotificationConfig',
  ],
  ['GET', '/tasks/:taskId', 'GetTask'],
  ['POST', '/tasks/:taskId', ''],
  // Behind the word stands a colon: the router reads the rest of the segment as a parameter.
  ['POST', '/message:verb', ''],
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
  routes.get(`${one}/.well-known/agent-card.json`, declareRight('anybody'), async (c) => {
    const id = c.req.param('automationId') ?? ''
    if (!isUuid(id)) return answerNotFound(c)
    const { card, tag } = await cards.sign(publicCard(config, id.toLowerCase()))
    const headers = { ...CACHED, etag: `"${tag}"` }
    if (c.req.header('if-none-match') === headers.etag) return c.body(null, 304, headers)
    return c.json(card, 200, headers)
  })

  const authenticate = requireBearer(deps, createAutomationDoors(sql, gate)('kickoff', 'read'))
  const paths = new Set(ADDRESSES.map(([, path]) => one + path))
  for (const path of [one, ...paths]) routes.use(path, authenticate)
  routes.post(one, declareRight('token'), async (c) => {
    const binding = createRpcBinding()
    return answerTo(call(c), binding, async () => {
      const message = await readMessage(c.req.raw, wrongMessage)
      if ('error' in message) return { error: message.error }
      const { id, method, params } = message
      if (id === undefined) return { error: { code: RPC_CODES.invalidRequest, message: NO_ID } }
      binding.id = id
      c.var.wide['a2a_method'] = method
      requireVersion(c)
      return { method, params }
    })
  })
  routes.all(one, refuseMethod('POST'))
  for (const [method, path, operation] of ADDRESSES) {
    routes.on(method, one + path, declareRight('token'), (c) =>
      answerTo(call(c), HTTP, async () => {
        requireVersion(c)
        return readHttp(c, operation)
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

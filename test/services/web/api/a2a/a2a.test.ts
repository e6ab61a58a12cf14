import {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  verifyAgentCardSignature,
} from '@a2a-js/sdk'
import type { AgentCard } from '@a2a-js/sdk'
import {
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'
import type { Client } from '@a2a-js/sdk/client'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runsOfState, TASK_STATES } from '../../../../../services/platform/a2a/task-status.ts'
import { deleteEndedTaskWebhooks } from '../../../../../services/platform/a2a/task-webhooks.ts'
import { createStaticToken } from '../../../../../services/platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../../../services/platform/automations/token-limits.ts'
import { parkRun } from '../../../../../services/platform/runs/run-approvals.ts'
import { storeArtifacts } from '../../../../../services/platform/runs/run-artifacts.ts'
import { completeRun, failRun } from '../../../../../services/platform/runs/run-queue.ts'
import { startWebhookSender } from '../../../../../services/worker/webhooks/sender.ts'
import { definition } from '../../../../support/crew.ts'
import { freePort } from '../../../../support/free-port.ts'
import { startHttpServer } from '../../../../support/http-server.ts'
import { isLong } from '../../../../support/long.ts'
import { guardFor } from '../../../../support/outgoing.ts'
import { deployAutomation } from '../../../../support/platform.ts'
import { recordEvent } from '../../../../support/record-event.ts'
import { until } from '../../../../support/until.ts'
import { environment, readObject } from '../../support/platform.ts'
import { CLIENT, newCaller, openPlatformWithOauth } from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'
import { takeRun } from '../mcp/mcp-clients.ts'

const USAGE = { inputTokens: 1, outputTokens: 2 }
/** Rows of the longest list, which are slow to make. */
const TASKS = isLong ? 10_000 : 300
const BINDINGS = ['JSONRPC', 'HTTP+JSON'] as const

let stage: PlatformWithOauth
let token: string
let otherToken: string
/** The agent that is the automation `research`. */
let agent: string
let agentOf: (automationId: string) => string
let receiver: Awaited<ReturnType<typeof startHttpServer>>
const received: { headers: Record<string, unknown>; body: Record<string, unknown> }[] = []
/** The status that the receiver answers with. */
let answered = 204

beforeAll(async () => {
  stage = await openPlatformWithOauth()
  receiver = await startHttpServer((request, response) => {
    let body = ''
    request.on('data', (part) => (body += String(part)))
    request.on('end', () => {
      received.push({ headers: request.headers, body: JSON.parse(body) })
      response.writeHead(answered).end()
    })
  })
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  await stage.serve({
    PORT: String(port),
    PLATFORM_BASE_URL: base,
    WEBHOOK_PRIVATE_ORIGINS: receiver.url,
  })
  agentOf = (id) => `${base}/platform/api/v1/crew/${id}/a2a`
  agent = agentOf(stage.acme.research.automationId)
  token = await stage.issueToken(stage.acme)
  otherToken = await stage.issueToken(stage.acme)
})
beforeEach(async () => {
  await stage.sql`delete from executions`
  received.length = 0
})
afterAll(async () => {
  await receiver.stop()
  await stage.close()
})

/** The official client, with nothing but a token. */
async function open(
  bearer = token,
  { at = agent, binding = 'JSONRPC' }: { at?: string; binding?: string } = {},
): Promise<Client> {
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => newCaller(bearer) as Record<string, string>,
    shouldRetryWithHeaders: async () => undefined,
  })
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [
      new JsonRpcTransportFactory({ fetchImpl }),
      new RestTransportFactory({ fetchImpl }),
    ],
    preferredTransports: [binding],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })
  return new ClientFactory(options).createFromUrl(`${at}/`)
}

/** A task as it is on the wire, as far as the tests look into it. */
interface WireTask {
  readonly id: string
  readonly status: {
    readonly state: string
    readonly message: { readonly parts: readonly { readonly data: object }[] }
  }
}

/** What a stream brings, likewise. */
interface WireUpdate {
  readonly task?: WireTask
  readonly statusUpdate?: WireTask
  readonly artifactUpdate?: { readonly artifact: { readonly parts: [{ readonly url: string }] } }
}

let messages = 0
const message = (parts: readonly object[], fields: object = {}) => {
  messages += 1
  return { messageId: `message-${messages}`, role: 'ROLE_USER', parts, ...fields }
}
const request = (parts: readonly object[], fields: object = {}, configuration: object = {}) =>
  SendMessageRequest.fromJSON({ message: message(parts, fields), configuration })

const errorText = (_: string, value: unknown) => (value instanceof Error ? value.message : value)

const NOW = { returnImmediately: true }
const TIDES = [{ data: { topic: 'tides' } }]

async function sendTask(client: Client, asked: SendMessageRequest) {
  const answer = await client.sendMessage(asked)
  return toWire(answer as Task)
}
// The client has its own form of what is on the wire.
const toWire = (task: Task) => Task.toJSON(task) as WireTask
const get = async (client: Client, id: string) =>
  toWire(await client.getTask(GetTaskRequest.fromJSON({ id })))

const rpc = async (method: string, params: object, headers: Record<string, string> = {}) => {
  const answer = await fetch(agent, {
    method: 'POST',
    headers: {
      ...newCaller(token),
      'content-type': 'application/json',
      'a2a-version': '1.0',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return { status: answer.status, body: await readObject(answer) }
}
const send = (parts: readonly object[], fields: object = {}, configuration: object = NOW) =>
  rpc('SendMessage', { message: message(parts, fields), configuration })

const complete = async (output: string): Promise<void> => {
  await completeRun(stage.sql, await takeRun(stage.sql), { output, usage: USAGE })
}
const runs = () => stage.sql<{ id: string; inputs: unknown }[]>`select id, inputs from executions`

const issue = async (
  limits: { deploymentId?: number | null; scopes?: readonly TokenScope[] },
  { organizationId } = stage.acme,
): Promise<string> => {
  const of = { organizationId, name: 'a2a', createdBy: null, deploymentId: null }
  return (await createStaticToken(stage.sql, { ...of, ...limits })).secret
}

describe.each(BINDINGS)('the official client by %s', (binding) => {
  const connect = (bearer?: string) => open(bearer, { binding })

  it('sends a message, waits for the end of the run, and gets what it put out', async () => {
    const client = await connect()
    const [task] = await Promise.all([sendTask(client, request(TIDES)), complete('The moon.')])
    const [run] = await runs()
    expect(task).toMatchObject({
      id: run?.id,
      contextId: run?.id,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'output', parts: [{ text: 'The moon.' }] }],
      history: [{ role: 'ROLE_USER', parts: [{ data: { topic: 'tides' } }] }],
    })
    expect(await get(client, task.id)).toEqual(task)
  })

  it('follows a run as a stream, from its start over its tasks to its files', async () => {
    const client = await connect()
    const told: WireUpdate[] = []
    const stream = (async () => {
      for await (const each of client.sendMessageStream(request(TIDES))) {
        told.push(StreamResponse.toJSON(each) as WireUpdate)
      }
    })()
    await until(async () => told.length > 0)
    const run = await takeRun(stage.sql)
    const event = { type: 'task_completed', task: 'research', output: 'Facts' }
    await recordEvent(stage.sql, run, { position: 0, event })
    await until(async () => JSON.stringify(told).includes('1 of 2 tasks'))
    await storeArtifacts(stage.sql, run, [{ name: 'a.md', task: 'research', content: '# A' }])
    await completeRun(stage.sql, run, { output: 'Done.', usage: USAGE })
    await stream
    const states = told.flatMap(({ task, statusUpdate }) => (task ?? statusUpdate)?.status.state)
    expect(states.at(0)).toBe('TASK_STATE_SUBMITTED')
    expect(states).toContain('TASK_STATE_WORKING')
    expect(told.at(-1)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } },
    })
    const artifacts = told.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact ?? [])
    expect(artifacts).toMatchObject([
      { artifactId: 'output', parts: [{ text: 'Done.' }] },
      {
        name: 'a.md',
        parts: [{ url: `${agent.replace(/a2a$/, '')}runs/${run.id}/artifacts/a.md` }],
      },
    ])
    const file = await fetch(artifacts[1]?.parts[0].url ?? '', { headers: newCaller(token) })
    expect(await file.text()).toBe('# A')
  })

  it('comes back to a stream that it lost, and learns of one that has ended', async () => {
    const client = await connect()
    const { id } = await sendTask(client, request(TIDES, {}, NOW))
    const told: unknown[] = []
    const stream = (async () => {
      for await (const each of client.resubscribeTask({ id, tenant: '' })) told.push(each)
    })()
    await until(async () => told.length > 0)
    await complete('Done.')
    await stream
    expect(JSON.stringify(told.at(-1))).toContain('statusUpdate')
    const again = client.resubscribeTask({ id, tenant: '' })
    await expect(again.next()).rejects.toThrow('The task has ended.')
  })

  it('cancels a run, once', async () => {
    const client = await connect()
    const { id } = await sendTask(client, request(TIDES, {}, NOW))
    const canceled = await client.cancelTask(CancelTaskRequest.fromJSON({ id }))
    expect(toWire(canceled)).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    const again = client.cancelTask(CancelTaskRequest.fromJSON({ id }))
    await expect(again).rejects.toThrow('The task has ended already.')
    expect(await stage.audit()).toContainEqual(
      expect.objectContaining({ action: 'run_stopped', targetId: id }),
    )
  })

  it('decides what a run waits for by a message to its task', async () => {
    const client = await connect()
    const waiting = sendTask(client, request(TIDES))
    const run = await takeRun(stage.sql)
    await parkRun(stage.sql, run, { step: 's'.repeat(32), task: 'research', output: 'Facts' })
    const { status } = await waiting
    expect(status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(status.message.parts[1]?.data).toMatchObject({ waiting_for: { task: 'research' } })
    const decision = [{ data: { task: 'research', decision: 'approve' } }]
    const fields = { taskId: run.id, contextId: run.id }
    const task = await sendTask(client, request(decision, fields, NOW))
    expect(task).toMatchObject({ id: run.id, status: { state: 'TASK_STATE_SUBMITTED' } })
    const late = client.sendMessage(request(decision, fields))
    await expect(late).rejects.toThrow('takes no message: its run is queued')
  })

  it('keeps the push notification configs of a task, and no secret of them is told', async () => {
    const client = await connect()
    const { id: taskId } = await sendTask(client, request(TIDES, {}, NOW))
    const asked = TaskPushNotificationConfig.fromJSON({
      taskId,
      url: `${receiver.url}/push`,
      token: 'known',
      authentication: { scheme: 'Bearer', credentials: 'secret' },
    })
    const created = await client.createTaskPushNotificationConfig(asked)
    const key = { taskId, id: created.id, tenant: '' }
    const all = { taskId, tenant: '', pageSize: 0, pageToken: '' }
    const { configs } = await client.listTaskPushNotificationConfig(all)
    expect(configs).toEqual([await client.getTaskPushNotificationConfig(key)])
    expect(configs).toMatchObject([{ taskId, url: `${receiver.url}/push` }])
    expect(JSON.stringify([created, configs])).not.toMatch(/known|secret/)
    await client.deleteTaskPushNotificationConfig(key)
    await client.deleteTaskPushNotificationConfig(key)
    expect((await client.listTaskPushNotificationConfig(all)).configs).toEqual([])
  })

  it('reads its card with the inputs once it has a token, and verifies both cards', async () => {
    const client = await connect()
    const fetched: string[] = []
    const verify = verifyAgentCardSignature(async (kid, jku) => {
      fetched.push(jku ?? '')
      const { keys } = await readObject(await fetch(jku ?? ''))
      return (keys as { kid: string }[]).find((each) => each.kid === kid) as object
    })
    // As they are on the wire: of a card that it has read, the client forgets the security schemes.
    const asSent = (sent: unknown) => sent as AgentCard
    await verify(asSent(await readObject(await fetch(`${agent}/.well-known/agent-card.json`))))
    const headers = { ...newCaller(token), 'a2a-version': '1.0' }
    const extended = await readObject(await fetch(`${agent}/extendedAgentCard`, { headers }))
    await verify(asSent(extended))
    const card = await client.getAgentCard()
    expect(card).toMatchObject({ name: 'acme research', skills: [{ id: 'acme-research' }] })
    expect(card.description).toContain('- topic (any, required)')
    expect(fetched.slice(0, 2)).toEqual([1, 2].map(() => `${new URL(agent).origin}/a2a/keys`))
    await expect(verify(asSent({ ...extended, name: 'another' }))).rejects.toThrow()
  })

  it('is refused without a good token, and sees no task of another token', async () => {
    const client = await connect()
    const other = await connect(otherToken)
    const { id } = await sendTask(client, request(TIDES, {}, NOW))
    const stranger = await connect('pat_unknown')
    await expect(stranger.sendMessage(request(TIDES))).rejects.toThrow()
    const key = { taskId: id, id, tenant: '' }
    const attempts = [
      other.getTask(GetTaskRequest.fromJSON({ id })),
      other.cancelTask(CancelTaskRequest.fromJSON({ id })),
      other.resubscribeTask({ id, tenant: '' }).next(),
      other.sendMessage(request([{ data: {} }], { taskId: id })),
      other.createTaskPushNotificationConfig(
        TaskPushNotificationConfig.fromJSON({ taskId: id, url: receiver.url }),
      ),
      other.getTaskPushNotificationConfig(key),
      other.listTaskPushNotificationConfig({ ...key, pageSize: 0, pageToken: '' }),
      other.deleteTaskPushNotificationConfig(key),
    ]
    const reasons = (await Promise.allSettled(attempts)).map((each) =>
      JSON.stringify(each, errorText),
    )
    const said = 'There is no such task of this caller.'
    expect(reasons).toEqual(attempts.map(() => expect.stringContaining(said)))
    expect((await other.listTasks(ListTasksRequest.fromJSON({}))).tasks).toEqual([])
    expect((await client.listTasks(ListTasksRequest.fromJSON({}))).tasks).toHaveLength(1)
  })
})

describe('a message', () => {
  it('that is sent twice, even at once, starts one run', async () => {
    const twice = { message: message(TIDES), configuration: NOW }
    const answers = await Promise.all([1, 2, 3].map(() => rpc('SendMessage', twice)))
    const [run, ...others] = await runs()
    expect(others).toEqual([])
    for (const { body } of answers)
      expect(body).toMatchObject({ result: { task: { id: run?.id } } })
    const other = await rpc('SendMessage', twice, newCaller(otherToken))
    expect(other.body['error']).toBeUndefined()
    expect(await runs()).toHaveLength(2)
    const changed = { ...twice, message: { ...twice.message, parts: [{ data: { topic: 'x' } }] } }
    expect((await rpc('SendMessage', changed)).body).toMatchObject({ error: { code: -32_602 } })
  })

  it('gives the only text, or the input that it names', async () => {
    await send([{ text: 'tides' }])
    await send([{ text: 'waves', metadata: { input: 'topic' } }])
    await send([{ data: { deep: 1 }, metadata: { input: 'topic' } }])
    const inputs = (await runs()).map(({ inputs: given }) => given)
    for (const topic of ['tides', 'waves', { deep: 1 }]) expect(inputs).toContainEqual({ topic })
  })

  it('brings a file along, or names one that was uploaded', async () => {
    const { automationId } = await deployAutomation(stage.sql, stage.acme.organizationId, {
      slug: 'acme-files',
      crew: {
        ...definition,
        inputs: [
          { name: 'report', type: 'file' },
          { name: 'topic', type: 'string', default: 'all' },
          { name: 'tone', type: 'string', default: 'dry' },
        ],
      },
    })
    const client = await open(token, { at: agentOf(automationId) })
    const raw = Buffer.from('a,b\n1,2\n').toString('base64')
    await sendTask(client, request([{ raw, filename: 'a.csv', mediaType: 'text/csv' }], {}, NOW))
    const [run] = await runs()
    expect(run?.inputs).toMatchObject({ report: { name: 'a.csv', size: 8 }, topic: 'all' })
    const text = client.sendMessage(request([{ raw }, { text: 'x' }]))
    await expect(text).rejects.toThrow('Name the input of the text in metadata.input: one of')
    const url = client.sendMessage(request([{ url: 'http://169.254.169.254/' }]))
    await expect(url).rejects.toThrow('url is not fetched')
    expect(await runs()).toHaveLength(1)
  })

  it.each([
    ['inputs that are not known', [{ data: { topik: 1 } }], -32_602, 'These inputs are missing'],
    ['an input twice', [...TIDES, ...TIDES], -32_602, 'given twice'],
    ['two contents in a part', [{ text: 'a', data: {} }], -32_602, 'has one of'],
    ['a list as data', [{ data: [1] }], -32_602, 'is an object'],
    ['no base64', [{ raw: '%%' }], -32_602, 'must be in base64'],
    ['a text where none is left', [...TIDES, { text: 'x' }], -32_005, 'no input left'],
    ['a file where none is taken', [{ raw: 'YQ==' }], -32_005, 'no input left'],
    ['no part', [], -32_602, 'must not be empty'],
    ['the name of an input that is none', [{ text: 'x', metadata: { input: 7 } }], -32_602, 'name'],
  ])('with %s starts nothing, and says why', async (...[, parts, code, text]) => {
    const { status, body } = await send(parts)
    expect(status).toBe(200)
    expect(body).toMatchObject({ error: { code, message: expect.stringContaining(text) } })
    expect(await runs()).toEqual([])
  })

  it('whatever it has, is an answer or an error of the caller', async () => {
    const part = fc.record(
      {
        text: fc.anything(),
        data: fc.jsonValue(),
        raw: fc.string(),
        url: fc.string(),
        metadata: fc.oneof(fc.jsonValue(), fc.record({ input: fc.jsonValue() })),
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 3 }), async (parts) => {
        const { status, body } = await send(JSON.parse(JSON.stringify(parts)))
        const code = (body['error'] as { code?: number } | undefined)?.code
        expect([200, 429]).toContain(status)
        expect([undefined, -32_602, -32_005, -32_700, -32_603]).toContain(code)
      }),
      { numRuns: isLong ? 500 : 15 },
    )
  })

  it('that is too large, or of another form, is refused', async () => {
    const large = await send([{ text: 'x'.repeat(300_000) }])
    expect(large).toMatchObject({ status: 413, body: { error: { code: -32_600 } } })
    const form = await rpc('SendMessage', {}, { 'content-type': 'text/plain' })
    expect(form).toMatchObject({ status: 415, body: { error: { code: -32_600 } } })
  })

  it('groups tasks by its context, and fits the one of its task', async () => {
    await send(TIDES, { contextId: 'talk' })
    const { body } = await send(TIDES, { contextId: 'talk' })
    const { id } = Object(body).result.task
    await send(TIDES)
    const listed = await rpc('ListTasks', { contextId: 'talk' })
    expect(listed.body).toMatchObject({ result: { totalSize: 2 } })
    const other = await send(TIDES, { taskId: id, contextId: 'other' })
    expect(other.body).toMatchObject({ error: { code: -32_602 } })
  })
})

describe('a call', () => {
  it.each([
    ['of no version, which is 0.3', { 'a2a-version': '' }, 'GetTask', -32_009],
    ['of a version to come', { 'a2a-version': '2.0' }, 'GetTask', -32_009],
    ['of a method of 0.3', {}, 'message/send', -32_601],
    ['of a method of objects', {}, 'constructor', -32_601],
    ['of a task that is none', {}, 'GetTask', -32_001],
  ])('%s has the error of A2A', async (...[, headers, method, code]) => {
    const answer = await rpc(method, { id: 'no' }, headers)
    expect(answer).toMatchObject({ status: 200, body: { id: 1, error: { code } } })
  })

  it('that is no JSON, no request or a notification has the error of JSON-RPC', async () => {
    const headers = { ...newCaller(token), 'content-type': 'application/json' }
    const found: unknown[] = []
    for (const body of ['{', '[]', '{"jsonrpc":"2.0","method":"GetTask"}', '{"id":"seven"}']) {
      const answer = await readObject(await fetch(agent, { method: 'POST', headers, body }))
      found.push([(answer['error'] as { code: number }).code, answer['id']])
    }
    expect(found).toEqual([
      [-32_700, null],
      [-32_600, null],
      [-32_600, null],
      [-32_600, 'seven'],
    ])
  })

  it.each([
    ['GET', '/tasks/no', 404, 'TASK_NOT_FOUND'],
    ['POST', '/message:sing', 404, undefined],
    ['GET', '/tasks?pageSize=0', 400, undefined],
  ])('of %s %s has the error of HTTP with JSON', async (...[method, path, status, reason]) => {
    const headers = { ...newCaller(token), 'a2a-version': '1.0' }
    const answer = await fetch(agent + path, { method, headers })
    expect(answer.headers.get('content-type')).toBe('application/a2a+json')
    const { error } = await readObject(answer)
    expect({ status: answer.status, error }).toMatchObject({ status, error: { code: status } })
    if (reason) expect(error).toMatchObject({ details: [{ reason, domain: 'a2a-protocol.org' }] })
  })

  it('has to bring a token of this automation, with both scopes', async () => {
    const { acme, rival } = stage
    const statuses = async (bearer: string, at = agent): Promise<number[]> => {
      const headers = { ...newCaller(bearer), 'a2a-version': '1.0' }
      const answers = [
        await fetch(at, { method: 'POST', headers, body: '{}' }),
        await fetch(`${at}/tasks`, { headers }),
        await fetch(`${at}/extendedAgentCard`, { headers }),
      ]
      return answers.map(({ status }) => status)
    }
    expect(await statuses(await issue({ deploymentId: acme.digest.id }))).toEqual([401, 401, 401])
    expect(await statuses(await issue({}, rival))).toEqual([401, 401, 401])
    expect(await statuses(await issue({ scopes: ['read'] }))).toEqual([403, 403, 403])
    expect(await statuses(stage.token({ aud: 'https://elsewhere.test' }))).toEqual([401, 401, 401])
    const none = agentOf('00000000-0000-4000-8000-000000000000')
    expect(await statuses(token, none)).toEqual([401, 401, 401])
    expect(await statuses(stage.token())).toEqual([415, 200, 200])
  })

  it('of an OAuth client starts tasks of that client', async () => {
    const client = await open(stage.token())
    const { id } = await sendTask(client, request(TIDES, {}, NOW))
    const [row] = await stage.sql`select starter_id from a2a_tasks where run_id = ${id}`
    expect(row).toEqual({ starterId: `client:${CLIENT}` })
  })
})

describe('the public card', () => {
  it('is the same for automations that there are and that there are not', async () => {
    const read = async (id: string) => {
      const answer = await fetch(`${agentOf(id)}/.well-known/agent-card.json`)
      const { signatures: _, ...card } = await readObject(answer)
      return { status: answer.status, card: JSON.stringify(card).replaceAll(id, 'ID') }
    }
    const none = await read('00000000-0000-4000-8000-000000000000')
    expect(await read(stage.acme.research.automationId)).toEqual(none)
    expect(none.status).toBe(200)
    expect((await fetch(`${agentOf('x')}/.well-known/agent-card.json`)).status).toBe(404)
  })

  it('is cached, and asked for again at no cost', async () => {
    const url = `${agent}/.well-known/agent-card.json`
    const { headers } = await fetch(url)
    expect(headers.get('cache-control')).toBe('public, max-age=300')
    const again = await fetch(url, { headers: { 'if-none-match': headers.get('etag') ?? '' } })
    expect(again.status).toBe(304)
  })

  it('is signed with a key that is sealed, and published without its private part', async () => {
    const { keys } = await readObject(await fetch(`${new URL(agent).origin}/a2a/keys`))
    expect(keys).toEqual([expect.objectContaining({ kty: 'EC', crv: 'P-256', alg: 'ES256' })])
    expect(JSON.stringify(keys)).not.toContain('"d"')
    const [row] = await stage.sql<{ sealedKey: Buffer }[]>`select sealed_key from card_keys`
    expect(row?.sealedKey.toString('latin1')).not.toContain('PRIVATE KEY')
  })
})

describe('push notifications', () => {
  const startSender = (retrySeconds = [0]) =>
    startWebhookSender({
      sql: stage.sql,
      log: { info() {}, warn() {}, error() {} } as never,
      guard: guardFor(receiver.url),
      secretKeyBase: environment(stage.url).SECRET_KEY_BASE,
      onAttempt: () => {},
      limits: { leaseSeconds: 20, retrySeconds },
    })
  const config = (url: string, fields: object = {}) => ({
    ...NOW,
    taskPushNotificationConfig: { url, ...fields },
  })

  it('say each change of the status, in order, with what the receiver knows them by', async () => {
    const known = { token: 'known', authentication: { scheme: 'Bearer', credentials: 'secret' } }
    const { body } = await send(TIDES, {}, config(`${receiver.url}/push`, known))
    const taskId = Object(body).result.task.id
    const sender = startSender()
    const run = await takeRun(stage.sql)
    await failRun(stage.sql, run, { code: 'llm_rejected', message: 'No.' })
    await until(async () => received.length === 2)
    await sender.stop(0)
    expect(received.map(({ body: told }) => told)).toMatchObject([
      { statusUpdate: { taskId, contextId: taskId, status: { state: 'TASK_STATE_WORKING' } } },
      {
        statusUpdate: {
          status: {
            state: 'TASK_STATE_FAILED',
            message: { parts: [{ text: 'llm_rejected: No.' }] },
          },
        },
      },
    ])
    for (const { body: told, headers } of received) {
      expect(() => StreamResponse.fromJSON(told)).not.toThrow()
      expect(headers).toMatchObject({
        authorization: 'Bearer secret',
        'x-a2a-notification-token': 'known',
      })
      expect(headers).not.toHaveProperty('webhook-signature')
    }
    const [row] = await stage.sql<{ sealedKey: Buffer }[]>`select sealed_key from webhooks`
    expect(row?.sealedKey.toString('latin1')).not.toContain('secret')
  })

  it('of a task that has ended say its end, once', async () => {
    const { body } = await send(TIDES)
    const taskId = Object(body).result.task.id
    await complete('Done.')
    await rpc('CreateTaskPushNotificationConfig', { taskId, url: receiver.url })
    const sender = startSender()
    await until(async () => received.length === 1)
    await sender.stop(0)
    expect(JSON.stringify(received)).toContain('TASK_STATE_COMPLETED')
    expect(await deleteEndedTaskWebhooks(stage.sql)).toBe(0)
    await stage.sql`update executions set finished_at = now() - interval '2 hours'`
    expect(await deleteEndedTaskWebhooks(stage.sql)).toBe(1)
  })

  it('are tried again, and hold up no other task of theirs', async () => {
    answered = 500
    await send(TIDES, {}, config(`${receiver.url}/push`))
    const sender = startSender([0, 0, 0, 0])
    await complete('Done.')
    await until(async () => received.length >= 2)
    answered = 204
    await until(async () => {
      const left = await stage.sql`select from webhook_messages where state = 'waiting'`
      return left.length === 0
    })
    await sender.stop(0)
  })

  it.each([
    ['an inner address', 'http://169.254.169.254/latest', 'private'],
    ['an inner address in other words', 'https://[::ffff:10.0.0.1]/', ''],
    ['this machine', 'https://127.0.0.1/', ''],
    ['no encryption', 'http://example.com/', 'https://'],
    ['credentials', 'https://a:b@example.com/', ''],
    ['no address', 'x', 'address'],
  ])('to %s are refused before anything starts', async (_, url, text) => {
    const { body } = await send(TIDES, {}, config(url))
    const said = expect.stringContaining(text)
    expect(body).toMatchObject({ error: { code: -32_602, message: said } })
    expect(await runs()).toEqual([])
  })

  it.each([
    ['a token with a line break', { token: 'a\r\nx: y' }],
    ['a scheme that is no word', { authentication: { scheme: 'Bearer x\r\n' } }],
    ['long credentials', { authentication: { scheme: 'A', credentials: 'x'.repeat(5000) } }],
  ])('with %s are refused', async (_, fields) => {
    const { body } = await send(TIDES, {}, config(receiver.url, fields))
    expect(body).toMatchObject({ error: { code: -32_602 } })
  })

  it('have at most five configs of a task, which are no webhooks of the automation', async () => {
    const { body } = await send(TIDES)
    const taskId = Object(body).result.task.id
    const create = () => rpc('CreateTaskPushNotificationConfig', { taskId, url: receiver.url })
    for (let made = 0; made < 5; made += 1) expect((await create()).body['error']).toBeUndefined()
    expect((await create()).body).toMatchObject({
      error: { code: -32_004, message: expect.stringContaining('at most 5') },
    })
    const path = `/designer/v2/automations/${stage.acme.research.automationId}/webhooks`
    const listed = await fetch(new URL(path, agent), { headers: newCaller(token) })
    expect(JSON.stringify(await readObject(listed))).not.toContain(receiver.url)
  })
})

describe('a list of tasks', () => {
  const fill = (count: number) => stage.sql`
    with added as (
      insert into executions (deployment_id, inputs, status, finished_at, error, starter_id)
      select ${stage.acme.research.id}, '{"topic": "x"}', 'error', now(),
        jsonb_build_object('code', case when n % 2 = 0 then 'approval_rejected' else 'x' end,
          'message', 'No.'), 'x'
      from generate_series(1, ${count}::int) n returning id, deployment_id)
    insert into a2a_tasks (run_id, deployment_id, starter_id, context_id, message_id, updated_at)
    select id, deployment_id,
      (select 'token:' || id from static_tokens order by id limit 1), id::text, 'm',
      now() - (row_number() over () / 10) * interval '1 microsecond' from added`

  it('puts a task first whose status has changed, and finds those since then', async () => {
    const a = Object((await send(TIDES)).body).result.task.id
    const second = Object((await send(TIDES)).body)
    const order = async (params: object = {}) =>
      Object((await rpc('ListTasks', params)).body).result.tasks.map(({ id }: WireTask) => id)
    const b = second.result.task.id
    expect(await order()).toEqual([b, a])
    const { timestamp } = second.result.task.status
    const run = await takeRun(stage.sql)
    await failRun(stage.sql, run, { code: 'x', message: 'No.' })
    expect(await order()).toEqual(run.id === a ? [a, b] : [b, a])
    expect(await order({ status: 'TASK_STATE_FAILED' })).toEqual([run.id])
    expect(await order({ statusTimestampAfter: timestamp })).toContain(run.id)
  })

  it.each([
    ['pageToken', { pageToken: 'MjAyNi0xMy00MVQ' }],
    [
      'pageToken',
      { pageToken: Buffer.from('2026-13-41T00:00:00.000000Z x').toString('base64url') },
    ],
    ['pageSize', { pageSize: 101 }],
    ['status', { status: 'working' }],
    ['statusTimestampAfter', { statusTimestampAfter: 'yesterday' }],
  ])('with a wrong %s is refused', async (name, params) => {
    const { body } = await rpc('ListTasks', params)
    const said = expect.stringContaining(name)
    expect(body).toMatchObject({ error: { code: -32_602, message: said } })
  })

  it('may be asked for each state that tasks have', () => {
    const found = TASK_STATES.map((state) => runsOfState(state)?.status)
    expect(new Set(found)).toEqual(
      new Set(['queued', 'running', 'waiting', 'completed', 'error', 'stopped']),
    )
    expect(runsOfState('TASK_STATE_AUTH_REQUIRED')).toBeUndefined()
  })

  it(`of ${TASKS} has pages, over which each is there once, the newest first`, async () => {
    await fill(TASKS)
    const [{ starter }] = await stage.sql<[{ starter: string }]>`
      select distinct starter_id as starter from a2a_tasks`
    await stage.sql`analyze a2a_tasks, executions`
    await send(TIDES)
    const [{ own }] = await stage.sql<[{ own: string }]>`
      select starter_id as own from a2a_tasks where message_id <> 'm'`
    await stage.sql`update a2a_tasks set starter_id = ${own} where starter_id = ${starter}`
    const seen: { id: string; at: string }[] = []
    let pageToken = ''
    do {
      const { body } = await rpc('ListTasks', { pageSize: 100, pageToken })
      const { tasks, nextPageToken, totalSize } = Object(body).result
      expect(totalSize).toBe(TASKS + 1)
      for (const { id, status, artifacts } of tasks) {
        expect(artifacts).toBeUndefined()
        seen.push({ id, at: status.timestamp })
      }
      pageToken = nextPageToken
    } while (pageToken !== '')
    expect(new Set(seen.map(({ id }) => id)).size).toBe(TASKS + 1)
    expect(seen.map(({ at }) => at)).toEqual(
      seen
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    )
    const rejected = await rpc('ListTasks', { status: 'TASK_STATE_REJECTED', pageSize: 1 })
    expect(rejected.body).toMatchObject({
      result: { totalSize: TASKS / 2, tasks: [{ status: { state: 'TASK_STATE_REJECTED' } }] },
    })
    const failed = await rpc('ListTasks', { status: 'TASK_STATE_FAILED', pageSize: 1 })
    expect(failed.body).toMatchObject({ result: { totalSize: TASKS / 2 } })
  })
})

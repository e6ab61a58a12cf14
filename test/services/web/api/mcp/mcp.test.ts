import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import fc from 'fast-check'
import * as v from 'valibot'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createStaticToken } from '../../../../../services/platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../../../services/platform/automations/token-limits.ts'
import { parkRun } from '../../../../../services/platform/runs/run-approvals.ts'
import { publishTexts } from '../../../../../services/platform/runs/run-texts.ts'
import { completeRun, failRun, takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import { openMcpSession } from '../../../../../services/shared/mcp/client.ts'
import { definition } from '../../../../support/crew.ts'
import { guardFor } from '../../../../support/outgoing.ts'
import { deployAutomation } from '../../../../support/platform.ts'
import { recordEvent } from '../../../../support/record-event.ts'
import { until } from '../../../../support/until.ts'
import { readObject } from '../../support/platform.ts'
import type { Tenant } from '../../support/platform.ts'
import { CLIENT, newCaller, openPlatformWithOauth } from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'
import { openNewClient, openNewClientOf, openOldClient, takeRun } from './mcp-clients.ts'
import type { Told } from './mcp-clients.ts'

const USAGE = { inputTokens: 1, outputTokens: 2 }
const PER_REQUEST = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const REQUEST = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
const PINNED = { version: '2026-07-28', _meta: PER_REQUEST }
const LATER = {
  version: '2099-01-01',
  _meta: { ...PER_REQUEST, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' },
}

interface SentHeaders {
  readonly version?: string
  readonly method?: string
  readonly name?: string
  readonly _meta?: object
}

let stage: PlatformWithOauth
let url: string
let token: string

beforeAll(async () => {
  stage = await openPlatformWithOauth()
  url = `${stage.service.url}/mcp`
  token = await stage.issueToken(stage.acme)
  const { tasks, ...crew } = definition
  const [first, last] = tasks
  if (!first || !last) throw new Error('no tasks')
  await deployAutomation(stage.sql, stage.acme.organizationId, {
    slug: 'acme-structured',
    crew: { ...crew, tasks: [first, { ...last, output_schema: { type: 'object' } }] },
  })
})
beforeEach(() => stage.sql`delete from executions`)
afterAll(() => stage.close())

const post = (body: unknown, headers: Record<string, string> = {}, to = url) =>
  fetch(to, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { ...newCaller(token), 'content-type': 'application/json', ...headers },
  })

const ask = async (method: string, params: object = {}, headers: Record<string, string> = {}) => {
  const answer = await post({ jsonrpc: '2.0', id: 1, method, params }, headers)
  return { status: answer.status, ...(await readObject(answer)) }
}

const issue = async (
  { organizationId }: Pick<Tenant, 'organizationId'>,
  limits: { deploymentId?: number | null; scopes?: readonly TokenScope[] },
): Promise<string> => {
  const of = { organizationId, name: 'mcp', createdBy: null, deploymentId: null }
  return (await createStaticToken(stage.sql, { ...of, ...limits })).secret
}

const runs = () => stage.sql<{ id: string }[]>`select id from executions`

/** Ends the next run as its worker does. */
const complete = async (output: string): Promise<void> => {
  await completeRun(stage.sql, await takeRun(stage.sql), { output, usage: USAGE })
}

describe.each([
  ['with sessions', openOldClient],
  ['of 2026-07-28', openNewClient],
])('the official client %s', (_, open) => {
  it('finds the automations of its token, with their inputs', async () => {
    const client = await open(url, token)
    const tools = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'acme-digest',
      'acme-research',
      'acme-structured',
    ])
    expect(tools[1]).toMatchObject({
      title: 'acme research',
      description: 'acme research\nResearch\nResult: One paragraph',
      inputSchema: { type: 'object', required: ['topic'], additionalProperties: false },
    })
    await client.close()
  })

  it('calls one, is told of its progress, and gets what the run said', async () => {
    const client = await open(url, token)
    const told: Told[] = []
    const answer = client.callTool({
      name: 'acme-research',
      arguments: { topic: 'tides' },
      onprogress: (each) => void told.push(each),
    })
    const run = await takeRun(stage.sql)
    const event = { type: 'task_completed', task: 'research', output: 'Facts' }
    await recordEvent(stage.sql, run, { position: 0, event })
    await until(async () => told.some(({ message }) => message?.startsWith('1 of 2')))
    await completeRun(stage.sql, run, { output: 'The moon.', usage: USAGE })
    expect(await answer).toMatchObject({
      content: [{ type: 'text', text: 'The moon.' }],
      isError: false,
      _meta: { kickoff_id: run.id, status: 'completed' },
    })
    const steps = told.map((each) => each.progress)
    expect(steps).toEqual([...new Set(steps)].toSorted((a, b) => a - b))
    expect(told.at(-1)).toMatchObject({ total: 2 })
    await client.close()
  })

  it('is told what the models of its own run write, the end of it, once a second', async () => {
    const client = await open(url, token)
    const call = (heard: Told[]) => {
      const onprogress = (each: Told) => void heard.push(each)
      return client.callTool({ name: 'acme-digest', arguments: {}, onprogress })
    }
    const [told, others]: [Told[], Told[]] = [[], []]
    const answer = call(told)
    const run = await takeRun(stage.sql)
    const other = call(others)
    const otherRun = await takeRun(stage.sql)
    const text = { run: run.id, step: 's1', task: 'write', agent: 'writer' }
    const said = `${'\u{1f30a}'.repeat(600)}.`
    const started = performance.now()
    // More than once: the service may still be connecting to the channel.
    await until(async () => {
      await publishTexts(stage.sql, [{ ...text, offset: 0, text: said }])
      return told.filter(({ message }) => message?.startsWith('write: ')).length === 2
    })
    const seconds = (performance.now() - started) / 1000
    await completeRun(stage.sql, run, { output: 'Tides.', usage: USAGE })
    await completeRun(stage.sql, otherRun, { output: 'Owls.', usage: USAGE })
    expect(await answer).toMatchObject({ content: [{ text: 'Tides.' }] })
    expect(await other).toMatchObject({ content: [{ text: 'Owls.' }] })
    const written = told.filter(({ message }) => message?.startsWith('write: '))
    expect(written[0]?.message).toBe(`write: …${'\u{1f30a}'.repeat(249)}.`)
    expect(seconds).toBeGreaterThan(0.9)
    expect(JSON.stringify(others)).not.toContain('write: ')
    const steps = told.map((each) => each.progress)
    expect(steps).toEqual([...new Set(steps)].toSorted((a, b) => a - b))
    await client.close()
  })

  it('gets an object where the last task has a schema, and text otherwise', async () => {
    const client = await open(url, token)
    const call = { arguments: { topic: 'tides' } }
    const [structured] = await Promise.all([
      client.callTool({ ...call, name: 'acme-structured' }),
      complete('{"height":3}'),
    ])
    expect(structured.structuredContent).toEqual({ height: 3 })
    const [text] = await Promise.all([
      client.callTool({ ...call, name: 'acme-research' }),
      complete('{"height":3}'),
    ])
    expect(text.structuredContent).toBeUndefined()
    await client.close()
  })

  it('learns why a run failed, and which one', async () => {
    const client = await open(url, token)
    const answer = client.callTool({ name: 'acme-digest', arguments: {} })
    const run = await takeRun(stage.sql)
    await failRun(stage.sql, run, { code: 'llm_rejected', message: 'The model said no.' })
    const { isError, content } = await answer
    expect(isError).toBe(true)
    expect(JSON.stringify(content)).toContain(`${run.id} failed (llm_rejected): The model said no.`)
    await client.close()
  })

  it('learns which inputs do not fit, and starts nothing', async () => {
    const client = await open(url, token)
    const { isError, content } = await client.callTool({
      name: 'acme-research',
      arguments: { topik: 'tides' },
    })
    expect(isError).toBe(true)
    expect(JSON.stringify(content)).toContain('These inputs are missing: topic.')
    expect(await runs()).toEqual([])
    await client.close()
  })

  it('leaves the run going when it vanishes in the middle of a call', async () => {
    const client = await open(url, token)
    const gone = new AbortController()
    const { signal } = gone
    const call = { name: 'acme-research', arguments: { topic: 'tides' }, signal }
    const answer = client.callTool({ ...call, onprogress: () => {} }).catch((thrown) => thrown)
    const run = await takeRun(stage.sql)
    gone.abort()
    await client.close()
    expect(await answer).toBeInstanceOf(Error)
    expect(await completeRun(stage.sql, run, { output: 'Done.', usage: USAGE })).toBe(true)
  })

  it('reads an unknown tool as an error', async () => {
    const client = await open(url, token)
    const call = { name: 'rival-research', arguments: { topic: 'tides' } }
    await expect(client.callTool(call)).rejects.toThrow('There is no tool "rival-research".')
    expect(await runs()).toEqual([])
    await client.close()
  })

  it('finds one automation at the address of that automation', async () => {
    const client = await open(stage.api('mcp'), stage.token())
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['acme-research'])
    const [{ content }] = await Promise.all([
      client.callTool({ name: 'acme-research', arguments: { topic: 'tides' } }),
      complete('By OAuth.'),
    ])
    expect(content).toEqual([{ type: 'text', text: 'By OAuth.' }])
    const [row] = await stage.sql`select starter_id from executions`
    expect(row).toEqual({ starterId: `client:${CLIENT}` })
    await client.close()
  })

  it('is refused without a good token', async () => {
    await expect(open(url, 'pat_unknown')).rejects.toThrow()
  })
})

describe('a list', () => {
  it('has pages, over which each automation is there once', async () => {
    const { sql, rival } = stage
    await sql`
      insert into deployments (organization_id, project_version_id, name, slug, app_id)
      select organization_id, project_version_id, 'Copy', 'copy-' || n, 'copy-' || n
      from deployments, generate_series(1, 120) n where id = ${rival.digest.id}`
    const client = await openOldClient(url, await stage.issueToken(rival))
    const names = (await client.listTools()).map(({ name }) => name)
    await client.close()
    await sql`delete from deployments where slug like 'copy-%'`
    expect(names).toEqual([...new Set(names)].toSorted())
    expect(names).toHaveLength(122)
  })
})

describe('the client that crews have', () => {
  it('calls an automation as any other tool', async () => {
    const session = openMcpSession({
      url: new URL(url),
      token: () => ({ access_token: token }),
      guard: guardFor(stage.service.url),
      responseBytesMax: 100_000,
    })
    const signal = AbortSignal.timeout(20_000)
    const [tool] = await session.listTools(signal)
    expect(tool?.name).toBe('acme-digest')
  })
})

describe('a run that waits for a person', () => {
  it('is answered with its id and where its output will be', async () => {
    const answer = ask('tools/call', { name: 'acme-research', arguments: { topic: 'tides' } })
    const run = await takeRun(stage.sql)
    await parkRun(stage.sql, run, { step: 's'.repeat(32), task: 'research', output: 'Facts' })
    const path = `/crew/${stage.acme.research.automationId}/status/${run.id}`
    expect(await answer).toMatchObject({
      result: { isError: false, _meta: { kickoff_id: run.id, status: 'waiting' } },
    })
    expect(JSON.stringify(await answer)).toContain(path)
  })

  const call = { name: 'acme-research', arguments: { topic: 'tides' } }

  /** Lets the next run wait for a decision about the output of its task. */
  async function park(output = 'Facts', step = 's'): Promise<string> {
    const run = await takeRun(stage.sql)
    await parkRun(stage.sql, run, { step: step.repeat(32), task: 'research', output })
    return run.id
  }

  const decided = (runId: string) => stage.sql<
    { decision: string | null; answer: string | null }[]
  >`
    select decision, answer from run_approvals where run_id = ${runId}`

  it('asks the person behind a client of 2026-07-28, again and again', async () => {
    const questions: string[] = []
    const client = await openNewClientOf({ url, token }, (question) => {
      questions.push(question)
      const content = { decision: 'edit', text: `Changed ${questions.length}` }
      return { action: 'accept', content }
    })
    const answer = client.callTool(call)
    const runId = await park('Facts')
    await park('More', 't')
    await complete('The moon.')
    expect(await answer).toMatchObject({
      content: [{ type: 'text', text: 'The moon.' }],
      _meta: { kickoff_id: runId },
    })
    expect(questions).toEqual([
      expect.stringMatching(/about the output of the task research.*: reject\.\n\nFacts$/s),
      expect.stringMatching(/\n\nMore$/),
    ])
    expect(await decided(runId)).toEqual([
      { decision: 'edit', answer: 'Changed 1' },
      { decision: 'edit', answer: 'Changed 2' },
    ])
    const [entry] = await stage.sql`
      select actor_kind, action from audit_entries
      where target_id = ${runId} and action ~ 'approval'`
    expect(entry).toMatchObject({ actorKind: 'token', action: 'approval_decided' })
    await client.close()
  })

  it('keeps waiting when that person declines', async () => {
    const client = await openNewClientOf({ url, token }, () => ({ action: 'decline' }))
    const answer = client.callTool(call)
    const runId = await park()
    expect(await answer).toMatchObject({ isError: false, _meta: { status: 'waiting' } })
    expect(await decided(runId)).toEqual([{ decision: null, answer: null }])
    await client.close()
  })

  /** Lets the next run wait for what the server of a tool asks. */
  async function parkQuestion(): Promise<string> {
    const run = await takeRun(stage.sql)
    const seats = { type: 'object', properties: { count: { type: 'integer' } } }
    const asked = { server: 'mcp.example.com', messages: { seats: 'How many seats?' } }
    const parameters = {
      type: 'object',
      properties: { seats: { ...seats, additionalProperties: false } },
      required: ['seats'],
      additionalProperties: false,
    }
    const call = { name: 'book', tool: 'book', description: '', parameters, question: asked }
    const at = { step: 'q'.repeat(32), task: 'research', output: '{}' }
    await parkRun(stage.sql, run, { ...at, call })
    return run.id
  }

  it('hands on what the server of a tool asks, and its answer or refusal', async () => {
    const questions: string[] = []
    const client = await openNewClientOf({ url, token }, (question) => {
      questions.push(question)
      return questions.length === 1
        ? { action: 'accept', content: { count: 2 } }
        : { action: 'decline' }
    })
    const answer = client.callTool(call)
    const runId = await parkQuestion()
    await complete('Booked.')
    expect(await answer).toMatchObject({ content: [{ text: 'Booked.' }] })
    const declined = client.callTool(call)
    const other = await parkQuestion()
    await complete('Not booked.')
    expect(await declined).toMatchObject({ content: [{ text: 'Not booked.' }] })
    expect(questions).toEqual(Array(2).fill('mcp.example.com asks: How many seats?'))
    expect(await decided(runId)).toEqual([{ decision: 'edit', answer: '{"seats":{"count":2}}' }])
    expect(await decided(other)).toMatchObject([{ decision: 'reject' }])
    await client.close()
  })

  const CAPABLE = {
    ...PER_REQUEST,
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  }
  const askNew = (params: object, bearer = token) =>
    ask(
      'tools/call',
      { ...call, ...params, _meta: CAPABLE },
      {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'acme-research',
        authorization: `Bearer ${bearer}`,
      },
    )
  const accept = (content: object) => ({ decision: { action: 'accept', content } })
  const stateOf = (state: object) => Buffer.from(JSON.stringify(state)).toString('base64url')

  it('takes an answer that is sent twice once', async () => {
    const asked = askNew({})
    await park()
    const { result } = v.parse(
      v.object({ result: v.object({ requestState: v.string() }) }),
      await asked,
    )
    const given = { ...result, inputResponses: accept({ decision: 'approve', text: '' }) }
    const both = Promise.all([askNew(given), askNew(given)])
    await complete('Once.')
    const texts = (await both).map((each) => JSON.stringify(each))
    expect(texts.every((each) => each.includes('Once.'))).toBe(true)
    expect(await runs()).toHaveLength(1)
  })

  it.each([
    ['text that is no decision', accept({ decision: 'perhaps' }), 'must be one of approve'],
    ['no text to edit', accept({ decision: 'edit' }), 'required to edit'],
    ['a field that no form has', accept({ decision: 'approve', user: 1 }), 'user'],
  ])('refuses %s, and waits', async (_, inputResponses, text) => {
    const asked = askNew({})
    const runId = await park()
    await asked
    const requestState = stateOf({ run: runId, task: 'research' })
    const answer = await askNew({ requestState, inputResponses })
    expect(answer).toMatchObject({ result: { isError: true } })
    expect(JSON.stringify(answer)).toContain(text)
    expect(await decided(runId)).toEqual([{ decision: null, answer: null }])
  })

  it('takes no answer of another caller, about another run, or to a forged question', async () => {
    const asked = askNew({})
    const runId = await park()
    await asked
    const inputResponses = accept({ decision: 'approve' })
    const other = await issue(stage.acme, {})
    const requestState = stateOf({ run: runId, task: 'research' })
    const answers = [
      await askNew({ requestState, inputResponses }, other),
      await askNew({ requestState: stateOf({ run: 'x', task: 'research' }), inputResponses }),
      await askNew({ requestState: 'e30', inputResponses }),
      await askNew({ requestState: 7, inputResponses }),
      await askNew({ requestState: 'x'.repeat(200_000), inputResponses }),
      await askNew({ requestState: stateOf({ run: runId, task: 'other' }), inputResponses }),
    ]
    for (const each of answers) expect(each).toMatchObject({ result: { isError: true } })
    const rival = await askNew({ requestState, inputResponses }, await issue(stage.rival, {}))
    expect(rival).toMatchObject({ error: { message: expect.stringContaining('no tool') } })
    expect(await decided(runId)).toEqual([{ decision: null, answer: null }])
    expect(await runs()).toHaveLength(1)
  })
})

describe('a call that is delivered twice', () => {
  const call = { name: 'acme-research', arguments: { topic: 'tides' } }

  it.each([
    ['in a session, by the id of the request', {}, { 'mcp-session-id': 'one' }],
    ['by a key in _meta', { _meta: { idempotency_key: 'k' } }, {}],
    ['by a key in a header', {}, { 'idempotency-key': 'h' }],
  ])('is one run %s', async (_, meta, headers) => {
    const both = Promise.all([1, 2].map(() => ask('tools/call', { ...call, ...meta }, headers)))
    await complete('Once.')
    const [one, other] = await both
    expect(one).toEqual(other)
    expect(JSON.stringify(one)).toContain('Once.')
    expect(await ask('tools/call', { ...call, ...meta }, headers)).toEqual(one)
    expect(await runs()).toHaveLength(1)
  })

  it('is a run of its own for another caller with the same key', async () => {
    const { organizationId } = stage.acme
    const other = await issue({ organizationId }, {})
    const keyed = { ...call, _meta: { idempotency_key: 'shared' } }
    const both = Promise.all([
      ask('tools/call', keyed),
      ask('tools/call', keyed, { authorization: `Bearer ${other}` }),
    ])
    await complete('Mine.')
    await complete('Yours.')
    const texts = (await both).map((each) => JSON.stringify(each))
    expect(texts.filter((each) => each.includes('Mine.'))).toHaveLength(1)
    expect(texts.filter((each) => each.includes('Yours.'))).toHaveLength(1)
  })

  it('says that a key was used with other inputs', async () => {
    const keyed = { ...call, _meta: { idempotency_key: 'twice' } }
    await Promise.all([ask('tools/call', keyed), complete('Once.')])
    const other = await ask('tools/call', { ...keyed, arguments: { topic: 'owls' } })
    expect(JSON.stringify(other)).toContain('was used with other inputs')
    expect(await runs()).toHaveLength(1)
  })
})

describe('a message', () => {
  it.each([
    ['that is no JSON', '{', [400, -32_700, null]],
    [
      'with a member twice',
      '{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}',
      [400, -32_700, null],
    ],
    ['in a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', [400, -32_600, null]],
    ['without jsonrpc', '{"id":1,"method":"ping"}', [400, -32_600, 1]],
    ['with null as its id', '{"jsonrpc":"2.0","id":null,"method":"ping"}', [400, -32_600, null]],
    ['that is a response', '{"jsonrpc":"2.0","id":1,"result":{}}', [400, -32_600, 1]],
    ['of an unknown method', '{"jsonrpc":"2.0","id":1,"method":"tools/make"}', [200, -32_601, 1]],
    [
      'that discovers in a session',
      '{"jsonrpc":"2.0","id":1,"method":"server/discover"}',
      [200, -32_601, 1],
    ],
    [
      'with arguments that are a list',
      JSON.stringify({ ...REQUEST, params: { name: 'acme-digest', arguments: [] } }),
      [200, -32_602, 1],
    ],
    [
      'with a cursor of no list',
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"\'"}}',
      [200, -32_602, 1],
    ],
  ])('%s is an error of JSON-RPC', async (_, body, [status, code, id]) => {
    const answer = await post(body)
    const found = [answer.status, await readObject(answer)]
    expect(found).toMatchObject([status, { id, error: { code } }])
  })

  it('is answered for ping, and taken as a notification', async () => {
    expect(await ask('ping')).toMatchObject({ status: 200, result: {} })
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' }
    const taken = await post(notification)
    expect([taken.status, await taken.text()]).toEqual([202, ''])
    expect(taken.headers.get('ratelimit')).toMatch(/^"token";r=\d+/)
  })

  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2024-11-05', '2025-11-25'],
    ['2099-01-01', '2025-11-25'],
  ])('that begins with %s is answered with %s', async (protocolVersion, answered) => {
    const { result } = (await ask('initialize', { protocolVersion })) as never
    expect(result).toMatchObject({ protocolVersion: answered, capabilities: { tools: {} } })
  })

  it.each([
    ['of an unknown version', -32_022, { version: '2024-01-01' }],
    ['without what 2026-07-28 wants in it', -32_602, { version: '2026-07-28' }],
    ['without the header of its version', -32_020, { _meta: PER_REQUEST }],
    ['with another method in its header', -32_020, { ...PINNED, method: 'ping' }],
    ['with another tool in its header', -32_020, { ...PINNED, name: 'acme-digest' }],
    ['of a version that is not there yet', -32_022, { ...LATER, name: 'acme-research' }],
  ])('%s is refused before it does anything', async (_, code, sent: SentHeaders) => {
    const { version, method = 'tools/call', name = 'acme-research', _meta } = sent
    const headers = { 'mcp-method': method, 'mcp-name': name }
    const versioned = { ...(version !== undefined && { 'mcp-protocol-version': version }) }
    const params = { name: 'acme-research', arguments: { topic: 'x' }, _meta }
    const answer = await ask('tools/call', params, { ...headers, ...versioned })
    expect(answer).toMatchObject({ status: 400, error: { code } })
    expect(await runs()).toEqual([])
  })

  it('of more than 256 KiB, of another type or from a page elsewhere is refused', async () => {
    expect((await post('x'.repeat(300_000))).status).toBe(413)
    expect((await post({}, { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post({}, { origin: 'https://evil.test' })).status).toBe(403)
  })

  it('is posted: there is no stream to open and no session to end', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await fetch(url, { method, headers: newCaller(token) })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    }
  })
})

describe('a token', () => {
  const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const listWith = (bearer: string, to = url) =>
    post(LIST, { authorization: `Bearer ${bearer}` }, to)

  it.each([
    ['none', undefined],
    ['an unknown one', `pat_${'x'.repeat(43)}`],
    ['one of another kind', 'abc'],
    ['a JWT that is not signed', 'eyJhbGciOiJub25lIn0.e30.eA'],
  ])('that is not good is refused as by the automation API: %s', async (_, bearer) => {
    const seen = await Promise.all(
      [url, stage.api('mcp'), stage.api('kickoff')].map(async (to) => {
        const answer = await fetch(to, {
          method: 'POST',
          body: '{',
          headers: { ...newCaller(bearer), 'content-type': 'application/json' },
        })
        const { request_id: _id, ...problem } = await readObject(answer)
        return [answer.status, answer.headers.get('www-authenticate'), problem]
      }),
    )
    expect(seen[0]?.[0]).toBe(401)
    expect(seen[0]?.[1]).toContain('resource_metadata=')
    expect(seen[1]).toEqual(seen[2])
    expect(seen[0]).toEqual(seen[2])
  })

  it.each([
    ['read', 'kickoff'],
    ['kickoff', 'read'],
  ] as const)('that may only %s lacks %s', async (scope, lacking) => {
    const lesser = await issue(stage.acme, { scopes: [scope] })
    for (const to of [url, stage.api('mcp')]) {
      const answer = await listWith(lesser, to)
      expect(answer.status).toBe(403)
      expect(answer.headers.get('www-authenticate')).toContain(`scope="${lacking}"`)
    }
  })

  it('of one automation finds that one, and opens no other address', async () => {
    const { acme } = stage
    const own = await issue(acme, { deploymentId: acme.digest.id })
    expect(JSON.stringify(await readObject(await listWith(own)))).toContain('acme-digest')
    expect(JSON.stringify(await readObject(await listWith(own)))).not.toContain('acme-research')
    expect((await listWith(own, stage.api('mcp'))).status).toBe(401)
  })

  it('of an identity provider opens no address without an organization', async () => {
    expect((await listWith(stage.token())).status).toBe(401)
  })

  it('of an identity provider finds what its client is bound to, in the only one', async () => {
    const { sql, rival } = stage
    const alone = (internal: boolean) =>
      sql`update organizations set internal = ${internal} where id = ${rival.organizationId}`
    await alone(true)
    const good = await readObject(await listWith(stage.token()))
    const stranger = await listWith(stage.token({ cid: 'other-client', sub: 'other-client' }))
    const expired = await listWith(stage.token({ iat: 1, exp: 2 }))
    const unscoped = await listWith(stage.token({ scp: ['other'] }))
    await alone(false)
    expect(JSON.stringify(good)).toContain('acme-research')
    expect(JSON.stringify(good)).not.toContain('acme-digest')
    expect([stranger.status, await readObject(stranger)]).toMatchObject([
      401,
      { details: { reason: 'client_not_bound' } },
    ])
    expect([expired.status, unscoped.status]).toEqual([401, 403])
  })
})

describe('two callers', () => {
  it('never see each other, whatever they ask for', async () => {
    const { acme, rival, sql } = stage
    const tokens = {
      acme: await issue(acme, {}),
      digest: await issue(acme, { deploymentId: acme.digest.id }),
      rival: await issue(rival, {}),
    }
    const own = {
      acme: ['acme-digest', 'acme-research', 'acme-structured'],
      digest: ['acme-digest'],
      rival: ['rival-digest', 'rival-research'],
    }
    const who = fc.constantFrom('acme', 'digest', 'rival')
    const what = fc.constantFrom(...own.acme, ...own.rival, 'acme', '%', '')
    await fc.assert(
      fc.asyncProperty(who, what, fc.constantFrom('k', 'l'), async (caller, name, key) => {
        await sql`delete from executions`
        const headers = { authorization: `Bearer ${tokens[caller]}` }
        const listed = JSON.stringify(await ask('tools/list', {}, headers))
        const names = [...listed.matchAll(/"name":"([^"]+)"/g)].map(([, each]) => each)
        expect(names).toEqual(own[caller])
        const needs = name.endsWith('digest') ? {} : { topic: 'tides' }
        const call = { name, arguments: needs, _meta: { idempotency_key: key } }
        const answer = ask('tools/call', call, headers)
        if (own[caller].includes(name)) await complete(`of ${caller}`)
        const said = JSON.stringify(await answer)
        expect(said.includes(`of ${caller}`)).toBe(own[caller].includes(name))
        expect(await takeRuns(sql, 1)).toEqual([])
      }),
      { numRuns: 25 },
    )
  })
})

describe('a call that is a task', () => {
  const connect = async (bearer = token) => {
    const client = new Client({ name: 'tasks', version: '1' })
    const headers = { authorization: `Bearer ${bearer}` }
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
    await client.connect(transport as Parameters<typeof client.connect>[0])
    await client.listTools()
    return client
  }
  const CALL = { name: 'acme-research', arguments: { topic: 'tides' } }

  it('is answered at once, and has the result when the run has ended', async () => {
    const client = await connect()
    const seen: string[] = []
    let said: unknown
    const stream = client.experimental.tasks.callToolStream(CALL)
    for await (const message of stream) {
      seen.push(message.type)
      if (message.type === 'taskCreated') {
        expect(await runs()).toEqual([{ id: message.task.taskId }])
        await complete('The moon.')
      }
      if (message.type === 'result') said = message.result
    }
    expect(seen).toEqual(['taskCreated', 'taskStatus', 'result'])
    expect(said).toMatchObject({ content: [{ type: 'text', text: 'The moon.' }], isError: false })
    await client.close()
  })

  it('survives its client, and is stopped by its caller alone', async () => {
    const { result } = (await ask('tools/call', { ...CALL, task: {} })) as never as {
      result: { task: { taskId: string } }
    }
    const { taskId } = result.task
    const stranger = await connect(await issue(stage.acme, {}))
    const tasks = stranger.experimental.tasks
    await expect(tasks.getTask(taskId)).rejects.toThrow('There is no such task.')
    await expect(tasks.getTaskResult(taskId, CallToolResultSchema)).rejects.toThrow(
      'There is no such task.',
    )
    await expect(tasks.cancelTask(taskId)).rejects.toThrow('There is no such task.')
    await stranger.close()
    const own = await connect()
    expect(await own.experimental.tasks.getTask(taskId)).toMatchObject({ status: 'working' })
    expect(await own.experimental.tasks.cancelTask(taskId)).toMatchObject({ status: 'cancelled' })
    await expect(own.experimental.tasks.cancelTask(taskId)).rejects.toThrow('has ended already')
    const answer = await own.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)
    expect(answer).toMatchObject({ isError: true, _meta: { status: 'stopped' } })
    await own.close()
  })

  it('is none in 2026-07-28, where calls know no such word', async () => {
    const client = await openNewClient(url, token)
    const [tool] = await client.listTools()
    expect(tool).not.toHaveProperty('execution')
    await client.close()
    expect(await ask('tasks/get', { taskId: 'x' })).toMatchObject({ error: { code: -32_602 } })
  })
})

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createApp } from '../../../services/crew/app.ts'
import { createLlm } from '../../../services/shared/models/llm.ts'
import { parseCrewEvent } from '../../../services/platform/crew-contract/crew-event.ts'
import type { CrewEvent } from '../../../services/platform/crew-contract/crew-protocol.ts'
import { createLog } from '../../../services/shared/log.ts'
import { serve } from '../../../services/shared/http/serve.ts'
import type { Service } from '../../../services/shared/http/serve.ts'
import type { ModelEndpoint } from '../../../services/platform/connections/model-endpoint.ts'
import { definition } from '../../support/crew.ts'
import { freePort } from '../../support/free-port.ts'
import { createOutgoingGuard } from '../../../services/shared/outgoing/guard.ts'
import type { OutgoingGuard } from '../../../services/shared/outgoing/guard.ts'
import { guardFor } from '../../support/outgoing.ts'
import { isSilent, refuses, says, startFakeModel } from './fake-model.ts'
import type { Answer, FakeModel } from './fake-model.ts'

const TOKEN = 'crew-token-'.repeat(4)
const KEY = 'sk-verysecretkey0123456789'
const log = createLog({ name: 'crew', level: 'silent' })

let model: FakeModel
let crew: Service

interface CrewOptions {
  readonly baseUrl?: string
  readonly timeoutMs?: number
  readonly heartbeatMs?: number
  readonly draining?: AbortSignal
}

function startCrew(options: CrewOptions = {}): Promise<Service> {
  const { baseUrl, timeoutMs = 5000, heartbeatMs, draining } = options
  const llm = createLlm({
    baseUrl: baseUrl ?? model.baseUrl,
    apiKey: KEY,
    timeoutMs,
    backoffMs: 2,
  })
  const llmAt = ({ base_url, api_key }: ModelEndpoint) =>
    createLlm({ baseUrl: base_url, apiKey: api_key, timeoutMs, backoffMs: 2 })
  const app = createApp({ definition, llm, llmAt, token: TOKEN, log, heartbeatMs, draining })
  return serve({ fetch: app.fetch, port: 0, host: '127.0.0.1', log, drainMs: 100 })
}

/** A crew that guards the addresses which kickoffs bring. */
function startGuarded(guard: OutgoingGuard): Promise<Service> {
  const llm = createLlm({ baseUrl: model.baseUrl, timeoutMs: 5000 })
  const llmAt = ({ base_url }: ModelEndpoint) =>
    createLlm({ baseUrl: base_url, timeoutMs: 5000, backoffMs: 2, guard })
  const app = createApp({ definition, llm, llmAt, token: TOKEN, log })
  return serve({ fetch: app.fetch, port: 0, host: '127.0.0.1', log, drainMs: 100 })
}

/** The end of a run that failed, whose model the kickoff said to be at `baseUrl`. */
async function failedAt({ url }: Service, baseUrl: string) {
  const models = { 'test-model': { base_url: baseUrl } }
  const request = { kickoff_id: randomUUID(), inputs: { topic: 'whales' }, models }
  const last = (await eventsOf(await kickoff({ body: JSON.stringify(request) }, url))).at(-1)
  if (last?.type !== 'failed') throw new Error(`the run did not fail: ${last?.type}`)
  return last
}

beforeAll(async () => {
  model = await startFakeModel()
  crew = await startCrew()
})

beforeEach(() => {
  model.requests.length = 0
})

afterAll(async () => {
  await crew.stop()
  await model.stop()
})

const HEADERS = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }

function kickoff(init: RequestInit = {}, url = crew.url): Promise<Response> {
  const body = JSON.stringify({ kickoff_id: randomUUID(), inputs: { topic: 'whales' } })
  return fetch(`${url}/kickoff`, { method: 'POST', headers: HEADERS, body, ...init })
}

async function eventsOf(response: Response): Promise<CrewEvent[]> {
  const lines = (await response.text()).trim().split('\n')
  return lines.map(parseCrewEvent).filter((event) => event.type !== 'other')
}

async function failureOf(answers: Answer[], options?: CrewOptions) {
  model.play(...answers)
  const own = options ? await startCrew(options) : undefined
  const last = (await eventsOf(await kickoff({}, own?.url))).at(-1)
  await own?.stop()
  return last?.type === 'failed' ? last.error : last
}

describe('a crew’s run (SPEC 1)', () => {
  it('is of the definition that the kickoff brings, if it brings one', async () => {
    const brought = {
      name: 'Brought',
      llm: { model: 'other-model' },
      agents: [{ key: 'poet', role: 'Poet', goal: 'Write about {animal}' }],
      tasks: [{ key: 'poem', description: 'A poem.', expected_output: 'Verse', agent: 'poet' }],
    }
    const send = (change: object) => {
      const inputs = { animal: 'otters' }
      const request = { kickoff_id: randomUUID(), inputs, definition: brought, ...change }
      return kickoff({ body: JSON.stringify(request) })
    }
    model.play(says('Verse.'))
    expect((await eventsOf(await send({}))).at(-1)).toMatchObject({ output: 'Verse.' })
    expect(model.requests[0]?.body).toMatchObject({ model: 'other-model' })
    expect((await send({ inputs: { topic: 'x' } })).status).toBe(422)
    expect((await send({ definition: { ...brought, tasks: [] } })).status).toBe(422)
  })

  it('calls a model with the address and key of the kickoff, and reveals neither', async () => {
    const elsewhere = await startFakeModel()
    elsewhere.play(refuses(401, 'the key sk-canary-0123456789 is not known'))
    const send = (models: unknown) => {
      const inputs = { topic: 'whales' }
      return kickoff({ body: JSON.stringify({ kickoff_id: randomUUID(), inputs, models }) })
    }
    const endpoint = { base_url: elsewhere.baseUrl, api_key: 'sk-canary-0123456789' }
    const told = await (await send({ 'test-model': endpoint })).text()
    expect(elsewhere.requests[0]?.headers.authorization).toBe('Bearer sk-canary-0123456789')
    expect(model.requests).toHaveLength(0)
    expect(told).toContain('llm_rejected')
    expect(told).not.toContain('canary')
    model.play(says('Facts.'), says('A summary.'))
    expect((await eventsOf(await send({ 'another-model': endpoint }))).at(-1)).toMatchObject({
      output: 'A summary.',
    })
    for (const bad of [{ ...endpoint, base_url: 'file:///etc' }, { ...endpoint, x: 1 }, 'x']) {
      const refused = await send({ 'test-model': bad })
      expect(refused.status).toBe(422)
      expect(await refused.text()).not.toContain('canary')
    }
    await elsewhere.stop()
  })

  it('calls no private address that a kickoff brings, unless the operator lists it', async () => {
    const inside = await startFakeModel()
    const strict = await startGuarded(guardFor())
    const { error } = await failedAt(strict, inside.baseUrl)
    expect(error).toMatchObject({ code: 'llm_address_refused' })
    const { origin } = new URL(inside.baseUrl)
    expect(error.message).toContain(`listing ${origin} in A_SETTING`)
    expect(inside.requests).toHaveLength(0)
    // An open port and a closed one cannot be told apart.
    const closed = `http://127.0.0.1:${await freePort()}`
    const other = await failedAt(strict, `${closed}/v1`)
    expect(other.error.message).toBe(
      error.message.replaceAll(new URL(inside.baseUrl).host, new URL(closed).host),
    )
    await strict.stop()
    await inside.stop()
  })

  it('repeats what a listed address says of a refusal, without keys', async () => {
    const inside = await startFakeModel()
    const allowed = await startGuarded(guardFor(new URL(inside.baseUrl).origin))
    inside.play(refuses(403, 'The key sk-canary-123 may not use this model.'))
    const { error } = await failedAt(allowed, inside.baseUrl)
    expect(error).toMatchObject({ code: 'llm_rejected' })
    expect(error.message).toMatch(/HTTP 403: The key \[key\] may not use this model\.$/)
    await allowed.stop()
    await inside.stop()
  })

  it('tells what the name servers say of an address that a kickoff brings', async () => {
    const resolveName = () =>
      Promise.reject(Object.assign(new Error('queryA ESERVFAIL'), { code: 'ESERVFAIL' }))
    const guard = createOutgoingGuard({ privateOrigins: [], setting: 'A_SETTING', resolveName })
    const blind = await startGuarded(guard)
    const { error } = await failedAt(blind, 'https://llm.test/v1')
    expect(error.code).toBe('llm_unreachable')
    expect(error.message).toMatch(
      /^The model at llm\.test cannot be reached: .*\(ESERVFAIL\)\. Check OPENAI_BASE_URL/,
    )
    await blind.stop()
  })

  it('is one of many at a time without a warning in the log', async () => {
    const warnings: string[] = []
    const note = ({ name }: Error) => void warnings.push(name)
    process.on('warning', note)
    const own = await startCrew({ draining: new AbortController().signal })
    model.play(isSilent)
    const runs = Array.from({ length: 12 }, () => kickoff({}, own.url))
    const responses = await Promise.all(runs)
    await Promise.all(responses.map(async ({ body }) => body?.cancel()))
    await own.stop()
    process.off('warning', note)
    expect(warnings).toEqual([])
  })

  it('does its tasks in order, with the inputs and the output of each earlier task', async () => {
    model.play(says('Whales are mammals. {topic}'), says('A summary.'))
    const response = await kickoff()
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    const events = await eventsOf(response)
    expect(events.map(({ type }) => type)).toEqual([
      'crew_started',
      'task_started',
      'llm_call',
      'task_completed',
      'task_started',
      'llm_call',
      'task_completed',
      'crew_completed',
    ])
    expect(events.at(-1)).toMatchObject({
      output: 'A summary.',
      usage: { input_tokens: 20, output_tokens: 10 },
    })
    const [first, second] = model.requests.map(({ body }) => body)
    expect(first).toMatchObject({ model: 'test-model', temperature: 0.2 })
    const [system, user] = first?.messages ?? []
    expect(system?.content).toContain('You are Researcher.')
    expect(system?.content).toContain('Find facts about whales')
    expect(user?.content).toContain('List facts about whales.')
    expect(user?.content).not.toContain('Context')
    const [, next] = second?.messages ?? []
    expect(next?.content).toContain('Write a summary of whales.')
    expect(next?.content).toContain('## research (Researcher)\nWhales are mammals. {topic}')
  })

  it('reports of each model call the messages, the answer and tokens (SPEC 9)', async () => {
    model.play(says('Facts.'))
    const events = await eventsOf(await kickoff())
    const call = events.find(({ type }) => type === 'llm_call')
    expect(call).toMatchObject({
      task: 'research',
      agent: 'researcher',
      request_model: 'test-model',
      response_model: 'test-model-2026',
      response_id: 'chatcmpl-1',
      provider: 'openai',
      server_address: '127.0.0.1',
      server_port: Number(new URL(model.baseUrl).port),
      finish_reason: 'stop',
      input_tokens: 10,
      output_tokens: 5,
      attempts: 1,
      messages_out: [{ role: 'assistant', content: 'Facts.' }],
    })
    expect(model.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`)
  })

  it('replaces what PostgreSQL cannot store', async () => {
    model.play(says('a\u0000b\ud800c'))
    const events = await eventsOf(await kickoff())
    expect(events.at(-1)).toMatchObject({ output: 'a\ufffdb\ufffdc' })
  })

  it('writes heartbeats while the model thinks', async () => {
    const own = await startCrew({ heartbeatMs: 10 })
    let answerNow: (() => void) | undefined
    model.play(
      (response, request) => void (answerNow = () => says('late')(response, request)),
      says('soon'),
    )
    const response = await kickoff({}, own.url)
    let seen = ''
    for await (const chunk of response.body ?? []) {
      seen += Buffer.from(chunk as Uint8Array).toString()
      if (seen.split('"heartbeat"').length <= 2) continue
      answerNow?.()
      answerNow = undefined
    }
    expect(seen).toContain('"crew_completed"')
    await own.stop()
  })

  it('ends the model call when the client disconnects', async () => {
    model.play(isSilent)
    const arrival = model.arrival()
    const client = new AbortController()
    const response = await kickoff({ signal: client.signal })
    const request = await arrival
    client.abort()
    await expect(response.text()).rejects.toThrow()
    await request.abandoned
    expect(model.requests).toHaveLength(1)
  })
})

describe('a crew’s model that fails', () => {
  it('is tried again after 500 and 429, and the run goes on', async () => {
    model.play(refuses(500, 'oops'), refuses(429, 'slow down', { 'retry-after': '0' }), says('ok'))
    const events = await eventsOf(await kickoff())
    expect(events.at(-1)).toMatchObject({ type: 'crew_completed', output: 'ok' })
    expect(events.find(({ type }) => type === 'llm_call')).toMatchObject({ attempts: 3 })
  })

  it('waits as long as Retry-After says', async () => {
    model.play(refuses(429, 'slow down', { 'retry-after': '0.2' }), says('ok'))
    const started = performance.now()
    await eventsOf(await kickoff())
    expect(performance.now() - started).toBeGreaterThan(190)
  })

  it('is not waited for when Retry-After is too long', async () => {
    expect(await failureOf([refuses(429, 'quota', { 'retry-after': '3600' })])).toEqual({
      code: 'llm_rejected',
      message: expect.stringMatching(/^The model at 127\.0\.0\.1:\d+ refused .* HTTP 429: quota$/),
    })
    expect(model.requests).toHaveLength(1)
  })

  it('fails the run after four attempts', async () => {
    const failure = await failureOf([refuses(503, 'overloaded')])
    expect(failure).toMatchObject({ code: 'llm_rejected' })
    expect(failure).toHaveProperty('message', expect.stringContaining('(4 attempts)'))
    expect(model.requests).toHaveLength(4)
  })

  it('never makes a key visible, also when the provider repeats it', async () => {
    const said = `Incorrect API key provided: ${KEY}, or sk-pro***xyz.`
    const failure = await failureOf([refuses(401, said)])
    expect(failure).toMatchObject({
      code: 'llm_rejected',
      message: expect.stringContaining('HTTP 401: Incorrect API key provided: [key], or [key]'),
    })
    expect(JSON.stringify(failure)).not.toContain('sk-')
    expect(model.requests).toHaveLength(1)
  })

  it.each<[string, Answer, string]>([
    ['is no JSON', (response) => void response.end('<html>'), 'not JSON'],
    ['is other JSON', (response) => void response.end('{"choices":[]}'), 'choices: must hold'],
    ['has no text', says(''), 'no text (finish_reason: stop)'],
    [
      'is too large',
      (response) => void response.end(`"${'x'.repeat(2_200_000)}"`),
      'more than 2097152 bytes',
    ],
  ])('fails the run when its answer %s', async (_, answer, message) => {
    expect(await failureOf([answer])).toEqual({
      code: 'llm_invalid_response',
      message: expect.stringContaining(message),
    })
  })

  it('fails the run when it never answers', async () => {
    expect(await failureOf([isSilent], { timeoutMs: 500 })).toEqual({
      code: 'llm_timeout',
      message: expect.stringContaining('did not answer within 500 ms'),
    })
    expect(model.requests).toHaveLength(1)
  })

  it('fails the run when it stops in the middle of its answer', async () => {
    const half: Answer = (response) => void response.writeHead(200).write('{"choices":')
    expect(await failureOf([half], { timeoutMs: 500 })).toMatchObject({ code: 'llm_timeout' })
    const cut: Answer = (response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"choices":')
      setImmediate(() => response.destroy())
    }
    expect(await failureOf([cut])).toMatchObject({ code: 'llm_unreachable' })
  })

  it('fails the run when nobody listens there', async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}/v1`
    expect(await failureOf([], { baseUrl })).toEqual({
      code: 'llm_unreachable',
      message: expect.stringMatching(/ECONNREFUSED.*OPENAI_BASE_URL.*\(4 attempts\)/),
    })
  })

  it('fails the run when it hangs up', async () => {
    const rude = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(rude, 'listening')
    const { port } = rude.address() as AddressInfo
    const failure = await failureOf([], { baseUrl: `http://127.0.0.1:${port}/v1` })
    expect(failure).toMatchObject({ code: 'llm_unreachable' })
    rude.close()
  })

  it('leaves the failed call in the events', async () => {
    model.play(refuses(400, 'bad temperature'))
    const events = await eventsOf(await kickoff())
    expect(events.map(({ type }) => type)).toEqual([
      'crew_started',
      'task_started',
      'llm_call',
      'failed',
    ])
    expect(events[2]).toMatchObject({ messages_out: [], error: { code: 'llm_rejected' } })
  })
})

describe('a crew’s HTTP surface', () => {
  it('answers its health and the inputs it asks for', async () => {
    const health = await fetch(`${crew.url}/health`)
    expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }])
    const inputs = await fetch(`${crew.url}/inputs`)
    expect(await inputs.json()).toEqual({ inputs: ['topic'] })
  })

  it('tells its runs that it stops, and lets them end while there is time', async () => {
    let answer = (): void => {}
    model.play(
      (response, request) => void (answer = () => says('Facts.')(response, request)),
      says('A summary.'),
    )
    const arrival = model.arrival()
    const draining = new AbortController()
    const own = await startCrew({ draining: draining.signal })
    const response = await kickoff({}, own.url)
    await arrival
    draining.abort()
    answer()
    const types = (await eventsOf(response)).map(({ type }) => type)
    expect(types.slice(0, 3)).toEqual(['crew_started', 'task_started', 'crew_stopping'])
    expect(types.at(-1)).toBe('crew_completed')
    await own.stop()
  })

  it('starts nothing while it stops, so that the run goes elsewhere', async () => {
    const llm = createLlm({ baseUrl: model.baseUrl, timeoutMs: 1000 })
    const app = createApp({
      definition,
      llm,
      llmAt: () => llm,
      token: TOKEN,
      log,
      draining: AbortSignal.abort(),
    })
    expect((await app.request('/health')).status).toBe(503)
    const body = JSON.stringify({ kickoff_id: randomUUID(), inputs: { topic: 'x' } })
    const response = await app.request('/kickoff', { method: 'POST', headers: HEADERS, body })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  })

  it.each<[number, string, RequestInit]>([
    [401, 'no token', { headers: { 'content-type': 'application/json' } }],
    [401, 'another token', { headers: { ...HEADERS, authorization: 'Bearer nope' } }],
    [401, 'another scheme', { headers: { ...HEADERS, authorization: `Basic ${TOKEN}` } }],
    [401, 'two tokens', { headers: { ...HEADERS, authorization: `Bearer ${TOKEN}, x` } }],
    [415, 'a form', { headers: { ...HEADERS, 'content-type': 'text/plain' } }],
    [413, 'a large body', { body: `"${'x'.repeat(1_100_000)}"` }],
    [400, 'broken JSON', { body: '{"kickoff_id":' }],
    [422, 'no kickoff id', { body: '{"inputs":{"topic":"x"}}' }],
    [422, 'a stray key', { body: `{"kickoff_id":"${randomUUID()}","inputs":{},"x":1}` }],
    [422, 'inputs that are a list', { body: `{"kickoff_id":"${randomUUID()}","inputs":[]}` }],
  ])('answers %i to a kickoff with %s', async (status, _, init) => {
    const response = await kickoff(init)
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.json()).toMatchObject({ status, message: expect.any(String) })
    expect(model.requests).toHaveLength(0)
  })

  it('names the inputs that are missing', async () => {
    const body = JSON.stringify({ kickoff_id: randomUUID(), inputs: { other: 1 } })
    const response = await kickoff({ body })
    expect(response.status).toBe(422)
    expect(await response.json()).toMatchObject({ details: { missing_inputs: ['topic'] } })
  })

  it('answers 404 elsewhere', async () => {
    const response = await fetch(`${crew.url}/nothing`)
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
  })
})

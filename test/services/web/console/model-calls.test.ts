import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startModel } from '../../../../services/local/model.ts'
import { setBudget } from '../../../../services/platform/budgets/budgets.ts'
import { createModelPrice } from '../../../../services/platform/budgets/model-prices.ts'
import {
  createLlmConnection,
  setSealedKey,
} from '../../../../services/platform/connections/llm-connections.ts'
import { createLlmKeys } from '../../../../services/platform/connections/llm-keys.ts'
import { saveAllowedRegions } from '../../../../services/platform/connections/regions.ts'
import { createCaseSet } from '../../../../services/platform/evaluations/case-sets.ts'
import { inTry } from '../../../../services/platform/model-calls/model-tries.ts'
import { agentText, taskText } from '../../../../services/platform/definitions/prompt-texts.ts'
import { createLog } from '../../../../services/shared/log.ts'
import type { Service } from '../../../../services/shared/http/serve.ts'
import { openTraces } from '../../../../services/web/traces/trace-reader.ts'
import { createHarness, SECRET as COLLECTOR_SECRET } from '../../collector/support/harness.ts'
import type { Harness } from '../../collector/support/harness.ts'
import { spanOf } from '../../collector/support/otlp.ts'
import type { KeyValue } from '../../collector/support/otlp.ts'
import { signInAs } from '../support/every-route.ts'
import { askAs } from '../support/forms.ts'
import { BASE_URL, openPlatform, readObject, SECRET } from '../support/platform.ts'
import type { Platform, Tenant } from '../support/platform.ts'
import { freshTraceId, sendTo } from '../support/traces.ts'
import { recordCall, STEP } from '../support/recorded-call.ts'

const HOSTILE = '</textarea><script>alert(1)</script>'
const KEY = 'sk-of-the-connection-1234'

let platform: Platform
let app: Platform['app']
let model: Service
let collector: Harness
let ada: ReturnType<typeof askAs>
let runId: string
let path: string
let token: string

const messages = [
  {
    role: 'system',
    content: agentText({
      role: 'Researcher',
      backstory: 'You are careful.',
      goal: 'Find facts about tides',
    }),
  },
  {
    role: 'user',
    content: taskText({ description: 'List facts about tides.', expected_output: 'Five facts' }),
  },
]
const tools = [
  { type: 'function', function: { name: 'search', description: '', parameters: {} } },
] as const
const request = { model: 'test-model', messages, parameters: { temperature: 0.2 } }

beforeAll(async () => {
  platform = await openPlatform()
  model = await startModel({
    port: 0,
    log: createLog({ name: 'model', level: 'silent' }),
    latencyMs: 0,
  })
  const origin = new URL(model.url).origin
  collector = await createHarness()
  const traces = openTraces({ collectorUrl: collector.collector.url, secret: COLLECTOR_SECRET })
  app = platform.appAt(BASE_URL, { LLM_PRIVATE_ORIGINS: origin }, { traces })
  const { acme, sql } = platform
  ada = askAs(app, await platform.signIn(acme))
  token = await platform.issueToken(acme)
  const connect = (name: string, baseUrl: string) =>
    createLlmConnection(sql, {
      organizationId: acme.organizationId,
      name,
      model: name,
      provider: 'openai',
      baseUrl,
    })
  const connection = await connect('test-model', `${origin}/v1`)
  await setSealedKey(sql, connection, createLlmKeys(SECRET).seal(KEY, connection))
  await connect('inside', 'http://127.0.0.1:1/v1')
  await createModelPrice(sql, acme.organizationId, {
    name: 'Contract',
    models: ['test-model'],
    begins: null,
    ends: null,
    perMillion: { input: 1000, output: 1000 },
  })
  await createCaseSet(sql, acme.research, { name: 'Set', checks: [] })
})

afterAll(async () => {
  await model.stop()
  await collector.stop()
  await platform.close()
})

const insertRun = async (tenant: Tenant): Promise<string> => {
  const { id: deploymentId } = tenant.research
  const row = { deploymentId, inputs: platform.sql.json({ topic: 'tides' }), status: 'completed' }
  const [{ id }] = await platform.sql<[{ id: string }]>`
    insert into executions ${platform.sql({ ...row, output: 'Out.', finishedAt: new Date() })}
    returning id`
  return id
}

beforeEach(async () => {
  const { acme, sql } = platform
  await sql`delete from budgets`
  runId = await insertRun(acme)
  path = `/automations/${acme.research.automationId}/executions/${runId}/calls/${STEP}`
  await recordCall(sql, { runId, request })
})

const textOf = async (response: Response): Promise<string> =>
  (await response.text()).replace(/\s+/g, ' ')

const fields = {
  model: 'test-model',
  temperature: '0.9',
  max_tokens: '',
  reasoning_effort: '',
  'content.0': messages[0]?.content ?? '',
  'content.1': messages[1]?.content.replace('Five', 'Three').replaceAll('\n', '\r\n') ?? '',
  do: 'send',
}

const call = async (at: string, body?: object | string, bearer = token) => {
  const response = await app.request(
    `${BASE_URL}/designer/v2/executions/${runId}/model-calls${at}`,
    {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    },
  )
  return { status: response.status, body: await readObject(response) }
}

describe('the page of a recorded call', () => {
  it('shows what was asked and answered, with its tokens, cost and time', async () => {
    const page = await textOf(await ada.get(path))
    expect(page).toContain('List facts about tides.')
    expect(page).toContain('Five facts.')
    expect(page).toContain('100 in, 20 out')
    expect(page).toContain('$0.12')
    expect(page).toContain('2.0 s')
    expect(page).not.toContain(KEY)
  })

  it('sends it changed, shows both answers, and pays for it', async () => {
    const { acme, sql } = platform
    const { organizationId } = acme
    const limits = { tokensMax: 100_000, usdMax: null, unpriced: 'refuse' } as const
    await setBudget(sql, { organizationId, deploymentId: acme.research.id, period: 'day' }, limits)
    await setBudget(sql, { organizationId, deploymentId: null, period: 'month' }, limits)
    const answer = await ada.post(path, fields)
    expect(answer.status).toBe(200)
    const page = await textOf(answer)
    expect(page).toContain('Written by the built-in demo model')
    expect(page).toContain('- Five facts.')
    expect(page).toContain('Write a version with it')
    const ledgers = await sql<{ tokens: number; usd: number }[]>`
      select spent_tokens::int as tokens, spent_usd::float8 as usd from budget_ledgers`
    expect(ledgers).toHaveLength(2)
    for (const { tokens, usd } of ledgers) expect(usd).toBeCloseTo(tokens / 1000, 6)
    expect((await platform.audit()).at(-1)).toMatchObject({
      action: 'model_called',
      after: { model: 'test-model', tokens: ledgers[0]?.tokens },
    })
    expect(await sql`select from model_tries`).toHaveLength(0)
  })

  it('makes a case of it, with the inputs of the run and the new answer', async () => {
    const [{ set }] = await platform.sql<[{ set: string }]>`select id as set from case_sets`
    const made = await ada.post(path, {
      ...fields,
      do: 'case',
      set,
      with_expected: 'yes',
      answer: 'A',
    })
    expect(made.headers.get('location')).toMatch(/\/case-sets\/.*notice=cases-added/)
    expect(await platform.sql`select inputs, expected from cases`).toMatchObject([
      { inputs: { topic: 'tides' }, expected: 'A' },
    ])
    expect((await ada.post(path, { ...fields, do: 'case', set: 'x' })).status).toBe(422)
  })

  it('writes a version with it, and says what a version cannot say', async () => {
    const made = await ada.post(path, { ...fields, do: 'version' })
    expect(made.headers.get('location')).toMatch(/\/versions\/2\?notice=draft-added/)
    const [draft] = await platform.sql`
      select definition from project_versions where number = 2 and published_at is null`
    expect(draft).toMatchObject({
      definition: {
        agents: [
          { llm: { model: 'test-model', temperature: 0.9 }, goal: 'Find facts about {topic}' },
          {},
        ],
        tasks: [{ description: 'List facts about {topic}.', expected_output: 'Three facts' }, {}],
      },
    })
    const more = { ...fields, 'content.new': 'Shorter, please.' }
    const page = await textOf(await ada.post(path, more))
    expect(page).toContain('Only the first two messages are made of the definition')
    expect(page).toContain('Write a version with the model and its parameters')
    expect((await ada.post(path, { ...more, do: 'version' })).status).toBe(422)
    expect((await ada.post(path, { ...more, do: 'parameters' })).status).toBe(303)
  })

  it('offers the recorded tools or none, and lets no text out of its field', async () => {
    const id = await insertRun(platform.acme)
    const at = path.replace(runId, id)
    const said = [{ role: 'user', content: `\n${HOSTILE}` }]
    await recordCall(platform.sql, { runId: id, request: { ...request, messages: said, tools } })
    const page = await textOf(await ada.get(at))
    expect(page).toContain('1 tool: search')
    expect(page).not.toContain('<script>alert(1)')
    const sent = await ada.post(at, { model: 'test-model', do: 'send' })
    expect(sent.status).toBe(200)
  })

  it('says that a request is no longer kept, and that it was never recorded', async () => {
    await platform.sql`delete from run_contents`
    expect(await textOf(await ada.get(path))).toContain(
      'no longer kept: it was erased, or has expired',
    )
    expect((await ada.post(path, fields)).status).toBe(409)
    expect(await call(`/${STEP}`)).toMatchObject({ body: { request: null } })
    await platform.sql`update run_steps set request = null, request_sha256 = null`
    expect(await textOf(await ada.get(path))).toContain('was not recorded')
    await platform.sql`delete from run_steps`
    expect((await ada.get(path)).status).toBe(404)
  })
})

describe('a call that is made again is refused', () => {
  it('to a viewer, who may look, and to another organization, for which it is none', async () => {
    const viewer = askAs(app, await signInAs(platform, 'vera', 'viewer'))
    const page = await textOf(await viewer.get(path))
    expect(page).toContain('<fieldset class="off" disabled>')
    expect((await viewer.post(path, fields)).status).toBe(403)
    const rival = askAs(app, await platform.signIn(platform.rival))
    const theirs = path.replace(
      platform.acme.research.automationId,
      platform.rival.research.automationId,
    )
    for (const at of [path, theirs]) {
      expect((await rival.get(at)).status).toBe(404)
      expect((await rival.post(at, fields)).status).toBe(404)
    }
    expect((await ada.get(theirs)).status).toBe(404)
    const foreign = await platform.issueToken(platform.rival)
    for (const at of ['', `/${STEP}`]) expect((await call(at, undefined, foreign)).status).toBe(404)
    for (const at of ['try', 'version']) {
      expect((await call(`/${STEP}/${at}`, {}, foreign)).status).toBe(404)
    }
  })

  it('for a model without a connection, and for an address that the guard refuses', async () => {
    const unknown = await ada.post(path, { ...fields, model: 'gpt-x' })
    expect(unknown.status).toBe(422)
    expect(await textOf(unknown)).toContain('no LLM connection for the model &quot;gpt-x&quot;')
    const inside = await textOf(await ada.post(path, { ...fields, model: 'inside' }))
    expect(inside).toContain('The model cannot be called:')
    expect(inside).toContain('Check the LLM connection &quot;inside&quot;')
  })

  it('for a model outside of the regions of the organization', async () => {
    const { acme, sql } = platform
    await saveAllowedRegions(sql, acme.organizationId, ['eu'])
    const answer = await ada.post(path, fields)
    await saveAllowedRegions(sql, acme.organizationId, [])
    expect(await textOf(answer)).toContain('has no LLM connection of an allowed region')
  })

  it('with 1 MB of messages, in a form and by the API', async () => {
    const long = 'x'.repeat(1_000_000)
    const sent = await ada.post(path, { ...fields, 'content.1': long })
    expect(sent.status).toBe(413)
    expect(await textOf(sent)).toContain('524288 is the most')
    const body = { messages: [{ role: 'user', content: long }] }
    expect((await call(`/${STEP}/try`, body)).status).toBe(413)
  })

  it('while a budget has no room for it, or while four others are in progress', async () => {
    const { acme, sql } = platform
    const { organizationId } = acme
    const limits = { tokensMax: 3000, usdMax: null, unpriced: 'refuse' } as const
    await setBudget(sql, { organizationId, deploymentId: acme.research.id, period: 'day' }, limits)
    const full = await ada.post(path, fields)
    expect(full.status).toBe(409)
    expect(await textOf(full)).toContain('A budget has no room for the call')
    expect((await ada.post(path, { ...fields, max_tokens: '50' })).status).toBe(200)
    const hold = async (others: number): Promise<void> =>
      inTry(sql, { organizationId, timeoutMs: 60_000 }, async () => {
        if (others > 1) return hold(others - 1)
        const busy = await ada.post(path, { ...fields, max_tokens: '50' })
        expect(busy.status).toBe(429)
        expect(busy.headers.get('retry-after')).toBe('5')
      })
    await hold(4)
    await sql`insert into model_tries (organization_id, ends_at) select ${organizationId},
      now() - interval '1 second' from generate_series(1, 4)`
    await sql`delete from budgets`
    expect((await ada.post(path, fields)).status).toBe(200)
  })
})

describe('a span of a trace', () => {
  const text = (key: string, stringValue: string): KeyValue => ({ key, value: { stringValue } })
  const spanId = '00000000000000a1'
  const asked = [{ role: 'user', parts: [{ type: 'text', content: 'List facts about ports.' }] }]
  const answered = [{ role: 'assistant', parts: [{ type: 'text', content: 'One fact.' }] }]
  const call = [
    text('gen_ai.operation.name', 'chat'),
    text('gen_ai.request.model', 'test-model'),
    text('gen_ai.input.messages', JSON.stringify(asked)),
    text('gen_ai.output.messages', JSON.stringify(answered)),
    { key: 'gen_ai.request.temperature', value: { doubleValue: 0.3 } },
  ]

  it('is made again by what its sender recorded, for its organization alone', async () => {
    const traceId = freshTraceId()
    const spans = [spanOf({ traceId, spanId, attributes: call })]
    await sendTo(collector.collector.url, platform.acme, { spans })
    const at = `/traces/${traceId}/spans/${spanId}`
    expect(await textOf(await ada.get(at))).toContain(`href="${at}/try"`)
    const page = await textOf(await ada.get(`${at}/try`))
    expect(page).toContain('One fact.')
    expect(page).toContain('value="0.3"')
    const sent = await textOf(await ada.post(`${at}/try`, { model: 'test-model', do: 'send' }))
    expect(sent).toContain('Written by the built-in demo model')
    expect(sent).toContain('no version of a project made it')
    expect(sent).toContain('The trace is of no run here')
    expect((await ada.post(`${at}/try`, { do: 'case' })).status).toBe(422)
    expect((await platform.audit()).at(-1)).toMatchObject({ targetKind: 'trace' })
    const rival = askAs(app, await platform.signIn(platform.rival))
    expect((await rival.get(`${at}/try`)).status).toBe(404)
    expect((await rival.post(`${at}/try`, { do: 'send' })).status).toBe(404)
  })

  it('without messages says so', async () => {
    const traceId = freshTraceId()
    const spans = [spanOf({ traceId, spanId, attributes: call.slice(0, 2) })]
    await sendTo(collector.collector.url, platform.acme, { spans })
    const at = `/traces/${traceId}/spans/${spanId}/try`
    expect(await textOf(await ada.get(at))).toContain('they were redacted or erased')
    expect((await ada.post(at, { do: 'send' })).status).toBe(409)
  })
})

describe('the API', () => {
  it('lists the calls of a run, makes one again, and writes a version with it', async () => {
    expect(await call('')).toMatchObject({
      body: { model_calls: [{ id: STEP, model: 'test-model' }] },
    })
    expect(await call(`/${STEP}`)).toMatchObject({
      body: { request: { temperature: 0.2, messages }, answer: { text: 'Five facts.' } },
    })
    const tried = await call(`/${STEP}/try`, { temperature: null, max_tokens: 20 })
    expect(tried).toMatchObject({
      status: 200,
      body: { error: null, usage: { output_tokens: 20 } },
    })
    expect(await call(`/${STEP}/version`, { temperature: 1 })).toMatchObject({
      status: 201,
      body: { status: 'draft', definition: { agents: [{ llm: { temperature: 1 } }, {}] } },
    })
    expect((await call(`/${STEP}/version`, {})).status).toBe(422)
  })

  it.each([
    [{ temperature: 3 }, 'temperature must be at most 2'],
    [{ messages: [] }, 'messages must not be empty'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'must be a known role'],
    [{ top_p: 1 }, 'top_p is not known'],
    [{ tools: [{ type: 'function' }] }, 'tools.0'],
  ])('says what is wrong with %j', async (body, problem) => {
    const { status, body: said } = await call(`/${STEP}/try`, body)
    expect(status).toBe(422)
    expect(said['message']).toContain(problem)
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../../services/platform/automations/token-limits.ts'
import { createOwnAutomation } from '../../../../services/platform/crews/own-crews.ts'
import type { Asked } from '../../../../services/platform/replays/replay-queue.ts'
import { finishReplay, takeReplays } from '../../../../services/platform/replays/replay-queue.ts'
import { recordRequest } from '../../../../services/platform/runs/run-contents.ts'
import { requestText } from '../../../../services/web/console/replays/request-text.ts'
import { askAs } from '../support/forms.ts'
import { signInAs } from '../support/every-route.ts'
import { BASE_URL, openPlatform, readObject } from '../support/platform.ts'
import type { Platform, Tenant } from '../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let path: string
let runId: string
const tokens: Partial<Record<TokenScope | 'rival', string>> = {}

const TYPED = { version: '1', last: '5', status: 'any', mode: 'offline', tokens_max: '0' }
const HOSTILE = '<script>alert(1)</script>\u202Egnp'
const asked = (content: string) => ({
  model: 'm',
  messages: [{ role: 'user', content }],
  parameters: { temperature: 0.2 },
})

beforeAll(async () => {
  platform = await openPlatform()
  const { acme, rival, sql } = platform
  ada = askAs(platform.app, await platform.signIn(acme))
  path = `/automations/${acme.research.automationId}/replays`
  for (const scope of ['design', 'read'] as const) tokens[scope] = await tokenFor(acme, scope)
  tokens.rival = await tokenFor(rival, 'design')
  const [run] = await sql<[{ id: string }]>`
    insert into executions (deployment_id, inputs, status, output, finished_at)
    values (${acme.research.id}, '{}', 'completed', 'Once.', now()) returning id`
  runId = run.id
})

afterAll(() => platform.close())

const tokenFor = ({ organizationId, userId }: Tenant, scope: TokenScope) =>
  issueStaticToken(platform.sql, {
    organizationId,
    deploymentId: null,
    name: `for ${scope} of ${organizationId}`,
    scopes: [scope],
    createdBy: userId,
  })

const call = async (as: keyof typeof tokens, at: string, body?: unknown) => {
  const response = await platform.app.request(`${BASE_URL}/designer/v2${at}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${tokens[as]}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await readObject(response) }
}

/** Starts a replay whose one run asks something else, as a worker stores it. */
async function startDifferent(took?: Asked): Promise<string> {
  const { body } = await call('design', path, { version: 1, last: 5 })
  const [taken] = await takeReplays(platform.sql, 1)
  if (!taken) throw new Error('nothing to take')
  const { parts, address } = recordRequest(asked('Write a poem.'), new Set())
  for (const { address: at, previous, content } of parts) {
    await platform.sql`
      insert into run_contents select content_day(id), organization_id, decode(${at}, 'hex'),
        decode(${previous ?? null}, 'hex'), decode(${content}, 'base64')
      from executions where id = ${runId} on conflict do nothing`
  }
  await finishReplay(platform.sql, taken, {
    state: 'different',
    reason: `m is asked something else: ${HOSTILE}`,
    step: { kind: 'llm', name: 'm', path: ['write', 'writer', 'llm', '0123456789abcdef', '0'] },
    recordedRequest: Buffer.from(address, 'hex'),
    request: asked(`Write a poem.\n${HOSTILE}`),
    output: 'Twice.',
    asked: took,
  })
  return String(body['id'])
}

const read = async (at: string, status = 200): Promise<string> => {
  const answer = await ada.get(at)
  expect(answer.status).toBe(status)
  return (await answer.text()).replace(/\s+/g, ' ')
}

describe('the pages of replays', () => {
  it('start one, show its progress and its runs, and delete it', async () => {
    expect(await read(path)).toContain('No replays yet')
    const started = await ada.post(path, { ...TYPED, status: 'completed' })
    const at = (started.headers.get('location') ?? '').replace(/\?.*/, '')
    const page = await read(at)
    expect(page).toContain('1 run by version 1')
    expect(page).toContain('0 of 1 done: 0 equal, 0 different, 0 not possible')
    expect(page).toContain(`data-live="${at}/live"`)
    expect(page).toContain('data-without-script>Refresh</a>')
    const live = await ada.get(`${at}/live`)
    expect(await live.text()).toContain('data-part="runs"')
    await ada.post(`${at}/delete`)
    await read(at, 404)
    await read(`${at}/live`, 404)
  })

  it('name the first step that differs, with what it asks now, and both outputs', async () => {
    const at = `${path}/${await startDifferent()}`
    expect(await read(at)).toContain('1 run by version 1')
    const page = await read(`${at}/runs/${runId}`)
    expect(page).toContain('write / writer / llm / 0')
    expect(page).toContain('user:')
    expect(page).toContain('+ &lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page).not.toContain('<script>alert')
    expect(page).not.toContain('\u202E')
    expect(page).toMatch(/- Once\..*\+ Twice\./)
    await read(`${at}/runs/00000000-0000-0000-0000-000000000000`, 404)
    await read(`${at}/runs/x`, 404)
  })

  it('refuse a version, a number and ids that are not there', async () => {
    const wrong: Record<string, string>[] = [
      { version: '99' },
      { last: '0' },
      { last: '1001' },
      { kickoff_ids: 'x' },
      { kickoff_ids: '00000000-0000-0000-0000-000000000000' },
      { of_version: '98' },
      { mode: 'free' },
      { tokens_max: '-1' },
    ]
    for (const change of wrong) {
      const typed = { ...TYPED, ...change }
      expect((await ada.post(path, typed)).status).toBe(422)
    }
  })
})

describe('the API of replays', () => {
  it('has each run with its request, and a difference as text', async () => {
    const id = await startDifferent()
    const found = await call('read', `${path}/${id}`)
    expect(found.body).toMatchObject({ version: 1, runs: 1, different: 1, waiting: 0, equal: 0 })
    expect(found.body['finished_at']).toBeTruthy()
    const { body } = await call('read', `/replays/${id}/runs`)
    expect(body).toMatchObject({ runs: [{ kickoff_id: runId, state: 'different' }] })
    const one = await call('read', `/replays/${id}/runs/${runId}`)
    expect(one.body).toMatchObject({
      step: { kind: 'llm', path: ['write', 'writer', 'llm', '0123456789abcdef', '0'] },
      recorded_request: asked('Write a poem.'),
      output: 'Twice.',
      recorded_output: 'Once.',
    })
    expect(one.body['request_diff']).toContain(`\n  Write a poem.\n+ ${HOSTILE}\n`)
  })

  it('shows nothing to another organization, and starts nothing for lesser roles', async () => {
    const id = await startDifferent()
    for (const at of [
      path,
      `${path}/${id}`,
      `/replays/${id}/runs`,
      `/replays/${id}/runs/${runId}`,
    ]) {
      expect((await call('rival', at)).status).toBe(404)
    }
    expect((await call('rival', path, { version: 1 })).status).toBe(404)
    expect((await call('read', path, { version: 1 })).status).toBe(403)
    const rivals = `/automations/${platform.rival.research.automationId}/replays`
    expect((await call('rival', rivals, { version: 1, kickoff_ids: [runId] })).status).toBe(422)
    const vera = askAs(platform.app, await signInAs(platform, 'vera', 'viewer'))
    expect((await vera.get(`${path}/${id}`)).status).toBe(200)
    expect((await vera.post(path, TYPED)).status).toBe(403)
    expect((await vera.post(`${path}/${id}/delete`)).status).toBe(403)
    const eve = askAs(platform.app, await platform.signIn(platform.rival))
    expect((await eve.get(`${path}/${id}/runs/${runId}`)).status).toBe(404)
    expect((await eve.get(`${path}/${id}/live`)).status).toBe(404)
  })
})

describe('the cost of a replay', () => {
  it('stands beside that of the record, by own prices of its day, as its time does', async () => {
    const { sql, acme, rival } = platform
    await sql`
      update executions set usage = '{"inputTokens": 3000, "outputTokens": 1000}',
        started_at = finished_at - interval '2 seconds' where id = ${runId}`
    await sql`
      insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt,
        started_at, ended_at, usage)
      values (${runId}, 'a', 0, 'llm', 'm', '[]', 'finished', 1, now(), now(),
        '{"input_tokens": 3000, "output_tokens": 1000}')`
    const priceOf = (organizationId: number, dollars: number) => sql`
      insert into model_prices (organization_id, name, models, per_million)
      values (${organizationId}, 'own', '{m}', ${sql.json({ input: dollars, output: dollars })})`
    await priceOf(rival.organizationId, 1e6)
    const at = `${path}/${await startDifferent({ tokens: 500, usd: 0.25 })}`
    const ask = async () => {
      const { body } = await call('read', `/replays/${at.split('/').at(-1)}/runs/${runId}`)
      return [body['usd'], body['recorded_usd'], body['recorded_duration_ms']]
    }
    expect(await ask()).toEqual([0.25, null, 2000])
    expect(await read(at)).toContain('recorded: unknown')
    await priceOf(acme.organizationId, 125)
    expect(await ask()).toEqual([0.25, 0.5, 2000])
    expect(await read(at)).toMatch(/\$0\.25 <span class="sub">recorded: \$0\.50<\/span>/)
    const page = await read(`${at}/runs/${runId}`)
    expect(page).toMatch(/\$0\.25 <span class="sub">recorded: \$0\.50<\/span>/)
    expect(page).toContain('for 500 tokens of models that were asked')
    expect(page).toContain('recorded: 2.0 s')
    const offline = `${path}/${await startDifferent()}`
    expect(await read(offline)).toMatch(/none <span class="sub">recorded: \$0\.50<\/span>/)
    // Its day was dropped.
    await sql`delete from run_steps where run_id = ${runId}`
    expect(await ask()).toEqual([0.25, null, 2000])
  })
})

describe('the text of a request', () => {
  it('is the same whatever the order of its members, and has a line for each', () => {
    const { model, messages, parameters } = asked('One\nTwo')
    expect(requestText({ parameters, messages, model })).toBe(
      requestText({ model, messages, parameters }),
    )
    expect(requestText({ messages, model })).toBe('model: m\n\nuser:\nOne\nTwo')
    expect(requestText({ tool: 'look', arguments: {} })).toBe(
      '{\n  "arguments": {},\n  "tool": "look"\n}',
    )
    expect(requestText(undefined)).toBe('')
  })
})

describe('the replays of a crew from source', () => {
  it('may ask models, and are for its organization alone', async () => {
    const { acme, sql } = platform
    const { organizationId } = acme
    const own = await createOwnAutomation(sql, { organizationId, name: 'Own program' })
    const at = `/automations/${own.automationId}/replays`
    const fields = { version: 1, last: 5 }
    expect(await call('design', at, fields)).toMatchObject({ status: 422 })
    const [{ id }] = await sql<[{ id: string }]>`
      insert into executions (deployment_id, inputs, status, output, finished_at)
      values (${own.id}, '{}', 'completed', 'Once.', now()) returning id`
    const live = await call('design', at, { ...fields, mode: 'live' })
    expect([live.status, live.body['mode'], live.body['waiting']]).toEqual([201, 'live', 1])
    const { status, body } = await call('design', at, { ...fields, kickoff_ids: [id] })
    expect([status, body['waiting']]).toEqual([201, 1])
    const replayId = String(body['id'])
    expect((await call('read', at, fields)).status).toBe(403)
    for (const [where, sent] of [
      [at, undefined],
      [at, fields],
      [`${at}/${replayId}`, undefined],
      [`/replays/${replayId}/runs`, undefined],
      [`/replays/${replayId}/runs/${id}`, undefined],
    ] as const) {
      expect((await call('rival', where, sent)).status).toBe(404)
    }
    const page = await (await ada.get(`/automations/${own.automationId}/design`)).text()
    expect(page).toContain(`href="${at}"`)
    expect(page).not.toContain(`/automations/${own.automationId}/evaluations"`)
  })
})

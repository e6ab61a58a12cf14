import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { chargeCall, reserveCall } from '../../../services/platform/budgets/budget-ledger.ts'
import { parkForBudget } from '../../../services/platform/budgets/budget-stops.ts'
import { takeRuns } from '../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../services/platform/runs/run-queue.ts'
import { findRun, kickoff } from '../../../services/platform/runs/runs.ts'
import { BASE_URL, openPlatform, readObject } from './support/platform.ts'
import type { Platform, SignedInUser } from './support/platform.ts'

let platform: Platform
let token: string
let rivalToken: string
let ada: SignedInUser
let eve: SignedInUser
let automation: string
let foreign: string

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  rivalToken = await platform.issueToken(platform.rival)
  ada = await platform.signIn(platform.acme)
  eve = await platform.signIn(platform.rival)
  automation = `/automations/${platform.acme.research.automationId}`
  foreign = `/automations/${platform.rival.research.automationId}`
})

beforeEach(async () => {
  await platform.sql`delete from executions`
  await platform.sql`delete from budgets`
})

afterAll(() => platform.close())

const send = (
  path: string,
  method: string,
  { body, as = token }: { body?: unknown; as?: string },
) =>
  platform.app.request(`${BASE_URL}${path}`, {
    method,
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

const designer = (method: string, path: string, body?: unknown) =>
  send(`/designer/v2${path}`, method, { body })

const asRival = (method: string, path: string) =>
  send(`/designer/v2${path}`, method, { as: rivalToken })

const call = (path: string, body?: unknown) =>
  send(
    `/platform/api/v1/crew/${platform.acme.research.automationId}${path}`,
    body === undefined ? 'GET' : 'POST',
    { body },
  )

const get = (path: string, user = ada) =>
  platform.app.request(`${BASE_URL}${path}`, { headers: { cookie: user.cookie } })

const post = (path: string, fields: Record<string, string>, user = ada) =>
  platform.app.request(`${BASE_URL}${path}`, {
    method: 'POST',
    body: new URLSearchParams({ csrf_token: user.csrfToken, ...fields }),
    headers: { cookie: user.cookie },
  })

async function begin(): Promise<LeasedRun> {
  await kickoff(platform.sql, {
    deploymentId: platform.acme.research.id,
    inputs: { topic: 'x' },
  })
  const [run] = await takeRuns(platform.sql, 1)
  if (!run) throw new Error('nothing to take')
  return run
}

const plan = { step: 'a', inputTokens: 40, outputTokens: 10, price: undefined }

/** A run that waits for a budget. */
async function stop(run: LeasedRun): Promise<string> {
  const refusal = await reserveCall(platform.sql, run, plan)
  if (typeof refusal === 'boolean') throw new Error('there was room')
  await parkForBudget(platform.sql, run, { ...refusal, model: 'test-model' })
  return run.id
}

describe('budgets by API', () => {
  it('are set, shown with what is used of them, and deleted', async () => {
    const put = await designer('PUT', '/budgets/day', { tokens_max: 1000, usd_max: 12.5 })
    expect([put.status, await put.json()]).toEqual([
      200,
      {
        automation_id: null,
        period: 'day',
        tokens_max: 1000,
        usd_max: 12.5,
        unpriced: 'refuse',
        of: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string,
        spent_tokens: 0,
        reserved_tokens: 0,
        left_tokens: 1000,
        spent_usd: 0,
        reserved_usd: 0,
        left_usd: 12.5,
        warned_at: null,
        waiting_runs: 0,
      },
    ])
    await designer('PUT', `${automation}/budgets/run`, { usd_max: 1, unpriced: 'free' })
    const price = { input: '0.001', output: '0.002' }
    const made = { inputTokens: 800, outputTokens: 150, price }
    await chargeCall(platform.sql, await begin(), made)
    const { budgets } = await readObject(await designer('GET', '/budgets'))
    expect(budgets).toMatchObject([
      { spent_tokens: 950, left_tokens: 50, spent_usd: 1.1, left_usd: 11.4 },
      { automation_id: platform.acme.research.automationId, period: 'run', of: null },
    ])
    const own = await readObject(await designer('GET', `${automation}/budgets`))
    expect(own).toMatchObject({ budgets: [{ period: 'run', unpriced: 'free' }] })
    expect((await designer('DELETE', '/budgets/day')).status).toBe(204)
    expect((await designer('DELETE', '/budgets/day')).status).toBe(404)
    expect(platform.lines.filter((line) => line['audit']).map((line) => line['audit'])).toEqual([
      'budget_set',
      'budget_set',
      'budget_deleted',
    ])
  })

  it.each<[string, unknown, RegExp]>([
    ['nothing', {}, /needs tokens_max, usd_max or both/],
    [
      'no tokens',
      { tokens_max: 0 },
      /tokens_max must be a whole number from 1 to 9007199254740991/,
    ],
    ['a negative amount', { usd_max: -1 }, /usd_max must be dollars from 0\.01 to 1000000/],
    ['a part of a cent', { usd_max: 1.005 }, /in whole cents/],
    ['a part of a token', { tokens_max: 1.5 }, /whole number/],
    ['more than is exact', { tokens_max: 2 ** 53 }, /whole number/],
    ['more than anybody has', { usd_max: 1e12 }, /to 1000000/],
    ['a text', { tokens_max: '1000' }, /whole number/],
    ['an unknown choice', { usd_max: 1, unpriced: 'maybe' }, /one of refuse, free/],
    ['an unknown field', { usd_max: 1, currency: 'EUR' }, /currency is not known/],
    ['a list', [], /body/],
  ])('refuse %s, and say what is allowed', async (_, body, message) => {
    const refused = await designer('PUT', '/budgets/day', body)
    expect([refused.status, (await readObject(refused))['message']]).toEqual([
      422,
      expect.stringMatching(message),
    ])
  })

  it('refuse a period that is none, and what is of another organization', async () => {
    const limits = { tokens_max: 1 }
    expect((await designer('PUT', '/budgets/week', limits)).status).toBe(404)
    const perRun = await designer('PUT', '/budgets/run', limits)
    expect(perRun.status).toBe(422)
    expect((await designer('PUT', `${foreign}/budgets/day`, limits)).status).toBe(404)
    expect((await designer('GET', `${foreign}/budgets`)).status).toBe(404)
    await designer('PUT', '/budgets/day', limits)
    const theirs = await asRival('GET', '/budgets')
    expect(await theirs.json()).toEqual({ budgets: [] })
    expect((await asRival('DELETE', '/budgets/day')).status).toBe(404)
    expect((await designer('POST', '/budgets/day', limits)).status).toBe(405)
  })
})

describe('a run that waits for a budget', () => {
  it('says which, how much, and what to do, and goes on when there is room', async () => {
    await designer('PUT', `${automation}/budgets/day`, { tokens_max: 45 })
    const id = await stop(await begin())
    const status = await readObject(await call(`/status/${id}?wait=60`))
    expect(status).toMatchObject({
      status: 'waiting',
      state: 'STARTED',
      waiting_for: null,
      error: null,
      budget_stop: {
        code: 'budget_exceeded',
        message: expect.stringMatching(/of 45 tokens, 0 are spent.*may need 50.*Raise/) as string,
        budget: 'automation',
        period: 'day',
        limit: 'tokens',
        max: 45,
        spent: 0,
        reserved: 0,
        asked: 50,
        model: 'test-model',
      },
    })
    const early = await call(`/resume/${id}`, {})
    expect([early.status, await readObject(early)]).toMatchObject([
      409,
      { details: { code: 'budget_exceeded', max: 45 } },
    ])
    await designer('PUT', `${automation}/budgets/day`, { tokens_max: 50 })
    const resumed = await call(`/resume/${id}`, {})
    expect(await resumed.json()).toEqual({ kickoff_id: id, status: 'queued', state: 'PENDING' })
    expect(await readObject(await call(`/status/${id}`))).toMatchObject({ budget_stop: null })
    expect((await call(`/resume/${id}`, {})).status).toBe(422)
    const [again] = await takeRuns(platform.sql, 1)
    expect(again && (await reserveCall(platform.sql, again, plan))).toBe(true)
  })

  it('can be stopped for good', async () => {
    await designer('PUT', `${automation}/budgets/day`, { tokens_max: 45 })
    const id = await stop(await begin())
    expect((await call(`/stop/${id}`, {})).status).toBe(200)
    const run = await findRun(platform.sql, platform.acme.research.id, id)
    expect(run?.status).toBe('stopped')
    expect((await call(`/resume/${id}`, {})).status).toBe(422)
  })
})

describe('the pages of budgets', () => {
  const page = async (path: string, user = ada) => (await get(path, user)).text()

  it('set limits, and show what is used with a bar', async () => {
    const saved = await post('/budgets/month', { tokens_max: '1,000', usd_max: '' })
    expect([saved.status, saved.headers.get('location')]).toEqual([
      303,
      '/budgets?notice=budget-saved',
    ])
    await post(`${automation}/budgets/day`, { tokens_max: '', usd_max: '2.50' })
    const price = { input: '0.001', output: '0' }
    const made = { inputTokens: 850, outputTokens: 0, price }
    await chargeCall(platform.sql, await begin(), made)
    const html = await page('/budgets')
    expect(html).toMatch(/<meter\s+min="0"\s+max="1000"\s+high="800"[^>]*value="850"/)
    expect(html).toMatch(/850 of 1,000 tokens spent/)
    expect(html).toMatch(/80 % spent/)
    expect(html).toMatch(/\$0\.85 of \$2\.50 spent/)
    expect(await page(`${automation}/settings`)).toMatch(/Each day[\s\S]*\$0\.85 of \$2\.50 spent/)
    expect(await page(`${automation}/budgets`)).toContain('name="tokens_max"')
    expect(await page('/budgets', eve)).not.toContain('850')
    expect((await get(`${automation}/budgets`, eve)).status).toBe(404)
    await post('/budgets/month', { tokens_max: '', usd_max: '' })
    expect(await page('/budgets')).not.toContain('1,000 tokens')
  })

  it.each([
    [{ tokens_max: '-5' }, 'Tokens must be a whole number'],
    [{ tokens_max: '1e9' }, 'Tokens must be a whole number'],
    [{ tokens_max: '99999999999999999999' }, 'Tokens must be a whole number'],
    [{ usd_max: '0.001' }, 'US dollars must be dollars from 0.01'],
    [{ usd_max: '12,5' }, 'US dollars must be dollars from 0.01'],
  ])('refuse %j with what was typed', async (fields, message) => {
    const refused = await post('/budgets/day', fields)
    const html = await refused.text()
    expect([refused.status, html.includes(message)]).toEqual([422, true])
    for (const value of Object.values(fields)) expect(html).toContain(`"${value}"`)
  })

  it('show why a run waits, and let it go on', async () => {
    await post(`${automation}/budgets/day`, { tokens_max: '45' })
    const runs = [await begin(), await begin()]
    for (const run of runs) await stop(run)
    const [first = '', second = ''] = runs.map(({ id }) => `${automation}/executions/${id}`)
    const html = await page(first)
    expect(html).toContain('Waiting for a budget')
    expect(html).toContain(`action="${first}/resume"`)
    const early = await post(`${first}/resume`, {})
    expect(early.status).toBe(409)
    expect(await early.text()).toContain('cannot continue yet')
    expect((await post(`${first}/resume`, {}, eve)).status).toBe(404)
    expect(await page(`${automation}/budgets`)).toContain('2 runs waiting for this budget')
    await post(`${automation}/budgets/day`, { tokens_max: '500' })
    expect((await post(`${first}/resume`, {})).status).toBe(303)
    const all = await post(`${automation}/budgets/day/resume`, {})
    expect(all.headers.get('location')).toBe(`${automation}/budgets?notice=budget-resumed`)
    expect(await page(second)).not.toContain('Waiting for a budget')
    expect(await takeRuns(platform.sql, 5)).toHaveLength(2)
  })
})

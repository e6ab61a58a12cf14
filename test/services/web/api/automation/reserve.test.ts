import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { releaseEnded } from '../../../../../services/platform/batches/reserve-batch.ts'
import { reserveCall } from '../../../../../services/platform/budgets/budget-ledger.ts'
import { listBudgets, setBudget } from '../../../../../services/platform/budgets/budgets.ts'
import { giveUpLostRuns, takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import { stopRun } from '../../../../../services/platform/runs/runs.ts'
import { openPlatform, readObject } from '../../support/platform.ts'
import type { Platform, Tenant } from '../../support/platform.ts'

const MAX = 2500
let platform: Platform
let token: string

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
})
afterAll(() => platform.close())

beforeEach(async () => {
  await platform.sql`delete from executions`
  await platform.sql`delete from budgets`
  for (const tenant of [platform.acme, platform.rival]) await limit(tenant, MAX)
})

const limit = ({ research }: Tenant, tokensMax: number) =>
  setBudget(
    platform.sql,
    { organizationId: research.organizationId, deploymentId: null, period: 'month' },
    { tokensMax, usdMax: null, unpriced: 'refuse' },
  )

/** Runs of the version that ended, each of 1,000 tokens. */
const seedEnded = ({ research }: Tenant, runs = 20) => platform.sql`
  with ended as (
    insert into executions (deployment_id, inputs, status, output, started_at, finished_at)
    select ${research.id}, '{"topic": "whales"}', 'completed', '', now() - interval '1 s', now()
    from generate_series(1, ${runs}::int) returning id)
  insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt, started_at,
    ended_at, usage, result)
  select id, 'a', 0, 'llm', 'gpt-5.4-mini', '[]', 'finished', 1, now(), now(),
    '{"input_tokens": 1000, "output_tokens": 0}', '{}' from ended`

const start = async (query = '?reserve=true', headers: Record<string, string> = {}) => {
  const { automationId } = platform.acme.research
  const url = `/platform/api/v1/crew/${automationId}/kickoff${query}`
  const body = JSON.stringify({ inputs: { topic: 'whales' } })
  const given = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return platform.app.request(url, { method: 'POST', headers: { ...given, ...headers }, body })
}
const started = async (...given: Parameters<typeof start>): Promise<string> => {
  const response = await start(...given)
  expect(response.status).toBe(202)
  return String((await readObject(response))['kickoff_id'])
}
const reserved = async ({ research }: Tenant = platform.acme) =>
  (await listBudgets(platform.sql, research))[0]?.reservedTokens
const unfinished = async (): Promise<number> =>
  (await platform.sql`select from executions where finished_at is null`).count

/** What is free is in the ledgers after the second look. */
async function release(): Promise<number | undefined> {
  await releaseEnded(platform.sql)
  await releaseEnded(platform.sql)
  return reserved()
}

describe('a run that reserves what it takes', () => {
  it('keeps others from its p95, uses it itself, and gives it back at its end', async () => {
    await seedEnded(platform.acme)
    const id = await started()
    expect([await reserved(), await reserved(platform.rival)]).toEqual([1000, 0])
    const other = await started('')
    const [own, beside] = await takeRuns(platform.sql, 2)
    if (own?.id !== id || beside?.id !== other) throw new Error('taken in another order')
    const call = (inputTokens: number) => ({
      step: randomUUID(),
      inputTokens,
      outputTokens: 0,
      price: undefined,
    })
    expect(await reserveCall(platform.sql, beside, call(1501))).toMatchObject({ limit: 'tokens' })
    expect(await reserveCall(platform.sql, own, call(MAX))).toBe(true)
    expect(await release()).toBe(1000 + MAX)
    await platform.sql`
      update executions set status = 'completed', output = '', finished_at = now(),
        lease_id = null, lease_expires_at = null where id = ${id}`
    expect(await release()).toBe(MAX)
    expect((await platform.sql`select from batch_reservations`).count).toBe(0)
  })

  it('gives it back when it is stopped, and when its worker is lost for good', async () => {
    await seedEnded(platform.acme)
    await stopRun(platform.sql, await started())
    expect(await release()).toBe(0)
    const id = await started()
    await takeRuns(platform.sql, 1)
    const lose = (attempts: number) => platform.sql`
      update executions set lease_expires_at = now() - interval '1 s', lost_attempts = ${attempts},
        lease_due_at = now() - interval '1 s'
      where id = ${id}`
    await lose(0)
    // Another worker takes it over, and finds the reservation.
    expect(await release()).toBe(1000)
    await takeRuns(platform.sql, 1)
    await lose(2)
    await giveUpLostRuns(platform.sql)
    expect(await release()).toBe(0)
  })

  it('does not start where there is no room, and says so as the budget does', async () => {
    await seedEnded(platform.acme)
    await started()
    await started()
    const refused = await start()
    expect(refused.status).toBe(409)
    expect(await readObject(refused)).toMatchObject({
      error: 'conflict',
      message: expect.stringMatching(/^Nothing is reserved\. .*2,?500/) as string,
      details: { code: 'budget_exceeded', limit: 'tokens', reserved: 2000, asked: 1000 },
    })
    expect([await unfinished(), await reserved()]).toEqual([2, 2000])
  })

  it('reserves no more than there is, however many ask at the same time', async () => {
    await seedEnded(platform.acme)
    const answers = await Promise.all(Array.from({ length: 8 }, () => start()))
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(2)
    expect([await unfinished(), await reserved()]).toEqual([2, 2000])
  })

  it('reserves once for a kickoff that is sent twice', async () => {
    await seedEnded(platform.acme)
    const key = { 'idempotency-key': 'order-1' }
    expect(await started('?reserve=true', key)).toBe(await started('?reserve=true', key))
    expect(await reserved()).toBe(1000)
  })

  it.each([
    ['what it takes is unknown', async () => {}, /too few runs have ended/],
    ['only others ran enough', () => seedEnded(platform.rival), /too few runs have ended/],
    [
      'there is no budget to reserve from',
      async () => {
        await seedEnded(platform.acme)
        await platform.sql`delete from budgets`
      },
      /no budget of a day or a month/,
    ],
  ])('does not start where %s', async (_, prepare, why) => {
    await prepare()
    const refused = await start()
    expect(refused.status).toBe(409)
    expect(JSON.stringify(await readObject(refused))).toMatch(why)
    expect(await unfinished()).toBe(0)
  })

  it('does not start with a flag that is neither true nor false', async () => {
    expect((await start('?reserve=1')).status).toBe(400)
    await started('?reserve=false')
    expect(await reserved()).toBe(0)
  })

  it('reserves nothing for those who may not call the automation', async () => {
    await seedEnded(platform.acme)
    const foreign = await platform.issueToken(platform.rival)
    const refused = await start('?reserve=true', { authorization: `Bearer ${foreign}` })
    expect(refused.status).toBeGreaterThanOrEqual(401)
    expect([await unfinished(), await reserved()]).toEqual([0, 0])
  })
})

describe('the form that starts a run, with a budget to reserve from', () => {
  const page = (): string => `/automations/${platform.acme.research.automationId}`
  async function openForm() {
    const { cookie, csrfToken } = await platform.signIn(platform.acme)
    const read = async (): Promise<string> =>
      (await platform.app.request(page(), { headers: { cookie } })).text()
    const send = (fields: Record<string, string>) =>
      platform.app.request(`${page()}/executions`, {
        method: 'POST',
        headers: { cookie },
        body: new URLSearchParams({ csrf_token: csrfToken, 'input.topic': 'whales', ...fields }),
      })
    return { read, send }
  }

  it('says what 95 % of its runs take, and reserves it where that is ticked', async () => {
    await seedEnded(platform.acme)
    const { read, send } = await openForm()
    expect(await read()).toMatch(/name="reserve"[^]*95 % take at most 1,000 tokens, \$0\.00/)
    expect((await send({})).status).toBe(303)
    expect(await reserved()).toBe(0)
    expect((await send({ reserve: 'true' })).status).toBe(303)
    expect(await reserved()).toBe(1000)
  })

  it('shows again what was typed where nothing can be reserved, and starts nothing', async () => {
    await seedEnded(platform.acme)
    await limit(platform.acme, 999)
    const { send } = await openForm()
    const refused = await send({ reserve: 'true' })
    expect(refused.status).toBe(409)
    const shown = await refused.text()
    expect(shown).toContain('Nothing is reserved.')
    expect(shown).toMatch(/name="reserve"\s+value="true"\s+checked/)
    expect(shown).toContain('whales')
    expect(await unfinished()).toBe(0)
  })

  it('offers nothing that is unknown, or that no budget could reserve', async () => {
    const { read, send } = await openForm()
    expect(await read()).toMatch(/name="reserve"[^>]*disabled[^]*Unknown: too few runs have ended/)
    await platform.sql`delete from budgets where organization_id = ${
      platform.acme.research.organizationId
    }`
    expect(await read()).not.toContain('name="reserve"')
    expect((await send({ reserve: 'true' })).status).toBe(409)
    expect(await unfinished()).toBe(0)
  })
})

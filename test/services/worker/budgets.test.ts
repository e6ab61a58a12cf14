import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  closeAbandonedCalls,
  reserveCall,
} from '../../../services/platform/budgets/budget-ledger.ts'
import type { BudgetPeriod } from '../../../services/platform/budgets/budget-room.ts'
import {
  describeStop,
  findBudgetStop,
  resumeAllStopped,
  resumeStopped,
} from '../../../services/platform/budgets/budget-stops.ts'
import { listBudgets, setBudget } from '../../../services/platform/budgets/budgets.ts'
import type { Budget, BudgetLimits } from '../../../services/platform/budgets/budgets.ts'
import { createModelPrice } from '../../../services/platform/budgets/model-prices.ts'
import { stopRun } from '../../../services/platform/runs/runs.ts'
import { isSilent, says } from '../crew/fake-model.ts'
import { startHttpServer } from '../../support/http-server.ts'
import { begin, line, startBrokenCrew } from './broken-crew.ts'
import { openWorker } from './harness.ts'

/** `BUDGET_RUNS=200` is the long form. */
const RUNS = Number(process.env['BUDGET_RUNS'] ?? 6)

const { deploy, model, platform } = await openWorker()

beforeEach(async () => {
  await platform.sql`delete from budgets`
})

const set = (period: BudgetPeriod, change: Partial<BudgetLimits>) => {
  const { organizationId, id: deploymentId } = platform.automation
  const limits = { tokensMax: null, usdMax: null, unpriced: 'refuse', ...change } as const
  return setBudget(platform.sql, { organizationId, deploymentId, period }, limits)
}

async function budget(): Promise<Budget> {
  const { organizationId } = platform.automation
  const [found] = await listBudgets(platform.sql, { organizationId })
  if (!found) throw new Error('no budget')
  return found
}

const typesOf = async (id: string) => (await platform.events(id)).map(({ type }) => type)

describe('a run of which the budget is used up', () => {
  it('stops before the call, and goes on where it was once the limit is raised', async () => {
    await deploy()
    await set('day', { tokensMax: 4500 })
    model.play(says('Facts.', { prompt_tokens: 600, completion_tokens: 100 }), says('A summary.'))
    await platform.startWorker()
    const id = await platform.kickoff()
    const run = await platform.until(id, 'waiting')
    expect(run).toMatchObject({ finishedAt: null, error: null })
    expect(model.requests).toHaveLength(1)
    const found = await findBudgetStop(platform.sql, id)
    expect(found?.stop).toMatchObject({
      limit: 'tokens',
      period: 'day',
      max: 4500,
      spent: 700,
      reserved: 0,
      model: 'test-model',
    })
    expect(found && describeStop(found.stop)).toMatch(/700 are spent .* Raise the limit, or wait/)
    expect(await budget()).toMatchObject({ spentTokens: 700, reservedTokens: 0, waitingRuns: 1 })
    await expect(resumeStopped(platform.sql, { runId: id })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('cannot continue yet') as string,
    })
    await set('day', { tokensMax: 10_000 })
    await resumeStopped(platform.sql, { runId: id })
    expect(await platform.until(id, 'completed')).toMatchObject({
      output: 'A summary.',
      usage: { inputTokens: 610, outputTokens: 105 },
    })
    expect(model.requests).toHaveLength(2)
    expect(await budget()).toMatchObject({ spentTokens: 715, reservedTokens: 0, waitingRuns: 0 })
    const told = await typesOf(id)
    expect(told.filter((type) => type.startsWith('budget'))).toEqual([
      'budget_exceeded',
      'budget_resumed',
    ])
    await expect(resumeStopped(platform.sql, { runId: id })).rejects.toThrow(/it is completed/)
  })

  it('waits before its crew is called when nothing is left at all', async () => {
    await deploy()
    await set('day', { tokensMax: 700 })
    await platform.sql`
      insert into budget_ledgers (budget_id, period, spent_tokens)
      values (${(await budget()).id}, ${new Date().toISOString().slice(0, 10)}, 700)`
    await platform.startWorker()
    const ids = [await platform.kickoff(), await platform.kickoff()]
    for (const id of ids) await platform.until(id, 'waiting')
    expect(model.requests).toHaveLength(0)
    await set('day', { tokensMax: 100_000 })
    const { id: budgetId, organizationId } = await budget()
    const foreign = { budgetId, organizationId: organizationId + 1 }
    expect(await resumeAllStopped(platform.sql, foreign)).toBe(0)
    expect(await resumeAllStopped(platform.sql, { budgetId, organizationId })).toBe(2)
    for (const id of ids) await platform.until(id, 'completed')
  })

  it('tells when 80 % are spent', async () => {
    await deploy()
    await set('run', { tokensMax: 6000 })
    model.play(says('Facts.', { prompt_tokens: 4000, completion_tokens: 800 }))
    await platform.startWorker()
    const id = await platform.kickoff()
    await platform.until(id, 'waiting')
    const events = await platform.events(id)
    expect(events.find(({ type }) => type === 'budget_warning')).toMatchObject({
      budget: 'automation',
      period: 'run',
      of: id,
      tokens_max: 6000,
      spent_tokens: 4800,
    })
  })

  it('tries again while only calls in flight leave no room', async () => {
    await deploy()
    await set('day', { tokensMax: 10_000 })
    const other = await platform.kickoff()
    const holder = await platform.takeOne()
    const held = { step: 'x', inputTokens: 9000, outputTokens: 0, price: undefined }
    expect(await reserveCall(platform.sql, holder, held)).toBe(true)
    await platform.startWorker()
    const id = await platform.kickoff()
    await expect
      .poll(async () => platform.get(id))
      .toMatchObject({
        status: 'queued',
        attempt: 1,
      })
    await stopRun(platform.sql, other)
    await closeAbandonedCalls(platform.sql)
    await platform.sql`update executions set available_at = now() where id = ${id}`
    await platform.sql`notify execution_queued`
    await platform.until(id, 'completed')
  })

  it('counts money by the prices of the file', async () => {
    await deploy()
    const file = join(await mkdtemp(join(tmpdir(), 'prices-')), 'prices.json')
    const per_million = { input: 100, output: 300, cached: 10 }
    const price = { models: ['test-model'], per_million }
    await writeFile(file, JSON.stringify({ prices: [price] }))
    await set('month', { usdMax: 5 })
    const prompt_tokens_details = { cached_tokens: 500 }
    const usage = { prompt_tokens: 600, prompt_tokens_details, completion_tokens: 100 }
    model.play(says('Facts.', usage), says('A summary.'))
    await platform.startWorker({ COLLECTOR_PRICES_FILE: file })
    const id = await platform.kickoff()
    await platform.until(id, 'completed')
    expect(await budget()).toMatchObject({ spentUsd: 0.0475, reservedUsd: 0, spentTokens: 715 })
  })

  it('comes from what the organization entered, before the file', async () => {
    await deploy()
    await set('month', { usdMax: 5 })
    const { organizationId } = platform.automation
    const price = { name: 'Ours', models: ['test-model'], begins: null, ends: null }
    await createModelPrice(platform.sql, organizationId, {
      ...price,
      perMillion: { input: 100, output: 0 },
    })
    model.play(says('Facts.', { prompt_tokens: 600, completion_tokens: 100 }), says('A summary.'))
    await platform.startWorker()
    await platform.until(await platform.kickoff(), 'completed')
    expect(await budget()).toMatchObject({ spentUsd: 0.061 })
    await platform.sql`delete from model_prices`
  })

  it('does not call a model without a price where money is limited', async () => {
    await deploy()
    await set('month', { usdMax: 5 })
    await platform.startWorker()
    const id = await platform.kickoff()
    await platform.until(id, 'waiting')
    expect((await findBudgetStop(platform.sql, id))?.stop).toMatchObject({ limit: 'price' })
    expect(model.requests).toHaveLength(0)
    await set('month', { usdMax: 5, unpriced: 'free' })
    await resumeStopped(platform.sql, { runId: id })
    await platform.until(id, 'completed')
  })
})

describe('many runs on one budget', () => {
  it('never spend more than it, and finish once it is raised, paid once each', async () => {
    await deploy()
    model.play(says('Fine.', { prompt_tokens: 100, completion_tokens: 3900 }))
    const max = RUNS * 5000
    await set('month', { tokensMax: max })
    await platform.startWorker({ WORKER_CONCURRENCY: '20' })
    await platform.startWorker({ WORKER_CONCURRENCY: '20' })
    const ids = await Promise.all(Array.from({ length: RUNS }, () => platform.kickoff()))
    await untilNone(['queued', 'running'])
    const stopped = await budget()
    expect(stopped.spentTokens).toBe(model.requests.length * 4000)
    expect(stopped.spentTokens).toBeLessThanOrEqual(max)
    expect(stopped).toMatchObject({ reservedTokens: 0 })
    expect(stopped.waitingRuns).toBeGreaterThan(0)
    await set('month', { tokensMax: max * 100 })
    const { id: budgetId, organizationId } = stopped
    await resumeAllStopped(platform.sql, { budgetId, organizationId })
    await untilNone(['queued', 'running', 'waiting'])
    for (const id of ids) expect(await platform.get(id)).toMatchObject({ status: 'completed' })
    expect(model.requests).toHaveLength(RUNS * 2)
    expect(await budget()).toMatchObject({ spentTokens: RUNS * 2 * 4000, reservedTokens: 0 })
  }, 300_000)

  /** Waits for runs; those that wait for the calls of others look again at once. */
  const untilNone = (statuses: readonly string[]) =>
    expect
      .poll(
        async () => {
          const nudged = await platform.sql`
            update executions set available_at = now()
            where status = 'queued' and available_at > now() returning id`
          if (nudged.length > 0) await platform.sql`notify execution_queued`
          const left = await platform.sql`
            select id from executions where status = any (${[...statuses]}::text[])`
          return left.length
        },
        { timeout: 280_000, interval: 200 },
      )
      .toBe(0)
})

describe('what a run has reserved', () => {
  it('is free again when its worker is lost in the middle of a call', async () => {
    await deploy()
    await set('day', { tokensMax: 10_000 })
    model.play(says('Facts.'), isSilent)
    const worker = await platform.startWorker()
    const id = await platform.kickoff()
    await expect.poll(() => model.requests.length).toBe(2)
    expect((await budget()).reservedTokens).toBeGreaterThan(4096)
    // As if it was killed: it gives nothing back.
    await platform.sql`
      update executions set lease_id = gen_random_uuid(),
        lease_expires_at = now() - interval '1 second'`
    await worker.stop()
    model.play(says('A summary.'))
    await platform.startWorker()
    await platform.until(id, 'completed')
    expect(await budget()).toMatchObject({ spentTokens: 30, reservedTokens: 0 })
    expect(model.requests).toHaveLength(3)
  })

  it('is given back at the end of each attempt', async () => {
    await deploy()
    await set('day', { tokensMax: 10_000 })
    model.play(says('Facts.'), isSilent)
    const worker = await platform.startWorker()
    await platform.kickoff()
    await expect.poll(() => model.requests.length).toBe(2)
    await worker.stop()
    expect(await budget()).toMatchObject({ spentTokens: 15, reservedTokens: 0 })
  })
})

describe('a crew that does not stop', () => {
  it('is charged for the call that was refused', async () => {
    const crew = await startHeedlessCrew()
    await platform.deployAt(crew.url)
    await set('day', { tokensMax: 1000 })
    await platform.startWorker()
    await platform.until(await platform.kickoff(), 'completed')
    expect(await budget()).toMatchObject({ spentTokens: 120, reservedTokens: 0 })
    await crew.stop()
  })

  /** Keeps a journal, and waits for nobody. */
  const startHeedlessCrew = () =>
    startHttpServer((request, response) => {
      if (request.url === '/describe') {
        response.end('{"contract": 2, "name": "heedless", "capabilities": ["journal"]}')
        return
      }
      begin(response)
      const step = { seq: 2, step: 'a', kind: 'llm', name: 'test-model', path: ['a'] }
      const usage = { input_tokens: 80, output_tokens: 40 }
      response.write(line({ type: 'step_started', ...step }))
      response.write(line({ type: 'step_finished', seq: 3, step: 'a', result: 1, usage }))
      response.end(line({ type: 'crew_completed', seq: 4, output: 'done', usage }))
    })
})

describe('a crew without a journal', () => {
  const call = {
    type: 'llm_call',
    task: 't',
    agent: 'a',
    request_model: 'test-model',
    provider: 'openai',
    server_address: 'localhost',
    server_port: 80,
    messages_in: [],
    messages_out: [],
    started_at: '2026-11-22T12:00:00Z',
    ended_at: '2026-11-22T12:00:00Z',
    attempts: 1,
    input_tokens: 80,
    output_tokens: 40,
  }

  it('is charged for the calls that it tells of, and called no more afterwards', async () => {
    const crew = await startBrokenCrew((response) => {
      begin(response)
      response.write(line(call))
      const usage = { input_tokens: 80, output_tokens: 40 }
      response.end(line({ type: 'crew_completed', output: 'done', usage }))
    })
    await platform.deployAt(crew.url)
    await set('day', { tokensMax: 100 })
    await platform.startWorker()
    await platform.until(await platform.kickoff(), 'completed')
    expect(await budget()).toMatchObject({ spentTokens: 120 })
    await platform.until(await platform.kickoff(), 'waiting')
    expect(crew.kickoffs()).toBe(1)
    await crew.stop()
  })
})

import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  chargeCall,
  closeAbandonedCalls,
  closeCalls,
  reserveCall,
  settleCalls,
} from '../../../../services/platform/budgets/budget-ledger.ts'
import type {
  PlannedCall,
  TokenPrice,
} from '../../../../services/platform/budgets/budget-ledger.ts'
import { findExhausted } from '../../../../services/platform/budgets/budget-room.ts'
import { describeStop } from '../../../../services/platform/budgets/budget-stops.ts'
import {
  deleteBudget,
  listBudgets,
  measureBudgets,
  setBudget,
} from '../../../../services/platform/budgets/budgets.ts'
import type { BudgetLimits } from '../../../../services/platform/budgets/budgets.ts'
import type { BudgetPeriod } from '../../../../services/platform/budgets/budget-room.ts'
import type { StepUsage } from '../../../../services/platform/crew-contract/crew-protocol.ts'
import { takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../../services/platform/runs/run-queue.ts'
import { recordProgress } from '../../../../services/platform/runs/record-progress.ts'
import type { StepRecord } from '../../../../services/platform/runs/journal-entries.ts'
import { kickoff, stopRun } from '../../../../services/platform/runs/runs.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { useOneAutomation } from '../one-automation.ts'

const platform = useOneAutomation()
const NOON = new Date('2026-11-22T12:00:00Z')
/** A hundredth of a cent for a token of input, and three for one of output. */
const PRICE: TokenPrice = { input: '0.0001', output: '0.0003' }
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 25)
const PARALLEL = Number(process.env['BUDGET_RUNS'] ?? 40)

beforeEach(async () => {
  await platform.sql`delete from budgets`
})

const limits = (change: Partial<BudgetLimits>): BudgetLimits => ({
  tokensMax: null,
  usdMax: null,
  unpriced: 'refuse',
  ...change,
})

const set = (period: BudgetPeriod, change: Partial<BudgetLimits>, whose = 'automation') => {
  const { organizationId, id } = platform.automation
  const deploymentId = whose === 'automation' ? id : null
  return setBudget(platform.sql, { organizationId, deploymentId, period }, limits(change))
}

const budgets = (at = NOON) =>
  listBudgets(platform.sql, { organizationId: platform.automation.organizationId, at })
const first = async (at = NOON) => (await budgets(at))[0]

async function reserve(run: LeasedRun, step: string, of: number | Partial<PlannedCall> = 100) {
  const asked = typeof of === 'number' ? { inputTokens: of } : of
  const common = { step, inputTokens: 100, outputTokens: 0, price: PRICE, at: NOON }
  const answer = await reserveCall(platform.sql, run, { ...common, ...asked })
  return typeof answer === 'boolean' ? undefined : answer
}

/** Writes into the journal how a step ended: it failed, unless it has a usage. */
async function journal(run: LeasedRun, key: string, usage?: StepUsage) {
  const at = new Date().toISOString()
  const step = { key, kind: 'llm', name: 'm', path: [key], startedAt: at, endedAt: at } as const
  const ended: StepRecord = usage
    ? { ...step, state: 'finished', usage, result: 1 }
    : { ...step, state: 'failed', error: { code: 'x', message: 'x' } }
  await recordProgress(platform.sql, run, { events: [], steps: [ended] })
}

async function finish(run: LeasedRun, key: string, used: number) {
  await journal(run, key, { input_tokens: used, output_tokens: 0 })
  return settleCalls(platform.sql, run, [key])
}

async function start(): Promise<LeasedRun> {
  await platform.enqueue()
  return platform.takeOne()
}

/** Lets another worker take over a run. */
async function takeOver(run: LeasedRun): Promise<LeasedRun> {
  await platform.sql`
    update executions set lease_expires_at = now() - interval '1 second', lost_attempts = 0
    where id = ${run.id}`
  return platform.takeOne()
}

describe('the ledger of a budget', () => {
  it('reserves before a call and settles after it', async () => {
    await set('day', { tokensMax: 1000, usdMax: 1 })
    const run = await start()
    expect(await reserve(run, 'a', { inputTokens: 400, outputTokens: 100 })).toBeUndefined()
    expect(await first()).toMatchObject({
      of: '2026-11-22',
      reservedTokens: 500,
      reservedUsd: 0.07,
      spentTokens: 0,
      spentUsd: 0,
    })
    await journal(run, 'a', { input_tokens: 250, output_tokens: 30 })
    await settleCalls(platform.sql, run, ['a'])
    const settled = { reservedTokens: 0, reservedUsd: 0, spentTokens: 280, spentUsd: 0.034 }
    expect(await first()).toMatchObject(settled)
    await settleCalls(platform.sql, run, ['a'])
    expect(await first()).toMatchObject(settled)
  })

  it('refuses the call for which there is no room, and says why and what to do', async () => {
    await set('day', { tokensMax: 1000 })
    const run = await start()
    await reserve(run, 'a', 600)
    await finish(run, 'a', 600)
    await reserve(run, 'b', 300)
    const refusal = await reserve(run, 'c', 101)
    expect(refusal).toMatchObject({ limit: 'tokens', max: 1000, spent: 600, reserved: 300 })
    expect(refusal && describeStop(refusal)).toBe(
      'The budget of the automation for the day 2026-11-22 (UTC) has no room: of 1,000 tokens, ' +
        '600 are spent and 300 reserved for calls in flight. The next call may need 101 tokens. ' +
        'Raise the limit, or wait for the next day, and resume the run.',
    )
    expect(await reserve(run, 'c', 100)).toBeUndefined()
    expect(await first()).toMatchObject({ reservedTokens: 400 })
  })

  it('reserves in each budget of a run or in none', async () => {
    await set('month', { tokensMax: 1000 }, 'organization')
    await set('run', { tokensMax: 150 })
    const run = await start()
    expect(await reserve(run, 'a', 100)).toBeUndefined()
    expect(await reserve(run, 'b', 100)).toMatchObject({ period: 'run', of: run.id })
    expect(await first()).toMatchObject({ period: 'month', of: '2026-11', reservedTokens: 100 })
    const other = await start()
    expect(await reserve(other, 'a', 100)).toBeUndefined()
    expect(await first()).toMatchObject({ reservedTokens: 200 })
  })

  it('does the same call twice as once', async () => {
    await set('day', { tokensMax: 100 })
    const run = await start()
    for (let time = 0; time < 2; time += 1) {
      expect(await reserve(run, 'a', 100)).toBeUndefined()
    }
    expect(await first()).toMatchObject({ reservedTokens: 100 })
  })

  it('counts what was reserved where a model tells no usage, and no failure', async () => {
    await set('day', { tokensMax: 1000 })
    const run = await start()
    await reserve(run, 'a', 100)
    await finish(run, 'a', 0)
    expect(await first()).toMatchObject({ spentTokens: 100, reservedTokens: 0 })
    await reserve(run, 'b', 100)
    await journal(run, 'b')
    await settleCalls(platform.sql, run, ['b'])
    expect(await first()).toMatchObject({ spentTokens: 100, reservedTokens: 0 })
  })

  it('has a day and a month of UTC, and a call belongs to the day in which it began', async () => {
    await set('day', { tokensMax: 100 })
    await set('month', { tokensMax: 1000 })
    const run = await start()
    const lastDay = new Date('2026-11-30T23:59:59.999Z')
    const nextDay = new Date('2026-12-01T00:00:00Z')
    expect(await reserve(run, 'a', { at: lastDay })).toBeUndefined()
    expect(await reserve(run, 'b', { at: lastDay })).toMatchObject({ of: '2026-11-30' })
    expect(await reserve(run, 'b', { at: nextDay })).toBeUndefined()
    await finish(run, 'a', 90)
    expect(await budgets(lastDay)).toMatchObject([
      { of: '2026-11-30', spentTokens: 90, reservedTokens: 0 },
      { of: '2026-11', spentTokens: 90, reservedTokens: 0 },
    ])
    expect(await budgets(nextDay)).toMatchObject([
      { of: '2026-12-01', spentTokens: 0, reservedTokens: 100 },
      { of: '2026-12', spentTokens: 0, reservedTokens: 100 },
    ])
  })

  it('refuses a model without a price where money is limited, unless it is free', async () => {
    await set('day', { usdMax: 1 })
    const run = await start()
    const unpriced = { price: undefined }
    const refusal = await reserve(run, 'a', unpriced)
    expect(refusal).toMatchObject({ limit: 'price' })
    expect(refusal && describeStop({ ...refusal, model: 'own-model' })).toMatch(
      /limits money, and the model own-model has no price\. Add .* count such calls as free/,
    )
    await set('day', { usdMax: 1, unpriced: 'free' })
    expect(await reserve(run, 'a', unpriced)).toBeUndefined()
    await set('day', { tokensMax: 1000 })
    expect(await reserve(run, 'b', unpriced)).toBeUndefined()
  })

  it('is another one for each organization', async () => {
    await set('day', { tokensMax: 100 }, 'organization')
    const other = await seedAutomation(platform.sql, { organization: 'Other', slug: 'other' })
    const run = await start()
    await reserve(run, 'a', 100)
    await kickoff(platform.sql, { deploymentId: other.id, inputs: {} })
    const [foreign] = await takeRuns(platform.sql, 1)
    expect(foreign && (await reserve(foreign, 'a', 1_000_000))).toBeUndefined()
    const key = { organizationId: other.organizationId, deploymentId: null, period: 'day' } as const
    expect(await deleteBudget(platform.sql, key)).toBe(false)
    expect(await listBudgets(platform.sql, key)).toEqual([])
    const stolen = { ...key, deploymentId: platform.automation.id }
    await expect(setBudget(platform.sql, stolen, limits({ tokensMax: 1 }))).rejects.toThrow(
      /foreign key/,
    )
  })

  it('warns once when 80 % are spent, and again when the limit was raised', async () => {
    await set('day', { tokensMax: 1000 })
    const run = await start()
    const warn = async (step: string, used: number) => {
      await reserve(run, step, used)
      return finish(run, step, used)
    }
    expect(await warn('a', 799)).toEqual([])
    expect(await warn('b', 1)).toMatchObject([{ spentTokens: 800, tokensMax: 1000 }])
    expect(await warn('c', 100)).toEqual([])
    expect(await measureBudgets(platform.sql, NOON)).toMatchObject({ warned: 1, exhausted: 0 })
    await set('day', { tokensMax: 2000 })
    expect((await first())?.warnedAt).toBeNull()
    expect(await warn('d', 700)).toHaveLength(1)
  })

  it.each([
    { cached: 40, price: '0.00001', usd: 0.0064 },
    { cached: 40, price: undefined, usd: 0.01 },
    { cached: 400, price: '0.00001', usd: 0.001 },
    { cached: 0, price: '0.00001', usd: 0.01 },
  ])(
    'pays $usd dollars for 100 tokens, $cached of them cached at $price',
    async ({ cached, price, usd }) => {
      await set('day', { usdMax: 1 })
      const run = await start()
      const priced = price === undefined ? PRICE : { ...PRICE, cached: price }
      await reserve(run, 'a', { price: priced })
      const usage = { input_tokens: 100, output_tokens: 0, cached_input_tokens: cached }
      await journal(run, 'a', usage)
      await settleCalls(platform.sql, run, ['a'])
      expect(await first()).toMatchObject({ spentTokens: 100, spentUsd: usd, reservedUsd: 0 })
      const made = { inputTokens: 100, outputTokens: 0, cachedInputTokens: cached, at: NOON }
      await chargeCall(platform.sql, run, { ...made, price: priced })
      expect(await first()).toMatchObject({ spentTokens: 200, spentUsd: 2 * usd })
    },
  )

  it('takes calls that nobody reserved, beyond its limit if need be', async () => {
    await set('day', { tokensMax: 100 })
    const run = await start()
    expect(await findExhausted(platform.sql, run, { at: NOON })).toBeUndefined()
    const made = { inputTokens: 90, outputTokens: 30, price: PRICE, at: NOON }
    expect(await chargeCall(platform.sql, run, made)).toHaveLength(1)
    expect(await first()).toMatchObject({ spentTokens: 120, spentUsd: 0.018 })
    expect(await findExhausted(platform.sql, run, { at: NOON })).toMatchObject({ spent: 120 })
  })
})

describe('a reservation', () => {
  it('of a lost attempt is free again once another worker has the run', async () => {
    await set('day', { tokensMax: 100 })
    const lost = await start()
    await reserve(lost, 'a', 100)
    const next = await takeOver(lost)
    await closeCalls(platform.sql, next, 'former')
    expect(await first()).toMatchObject({ spentTokens: 0, reservedTokens: 0 })
    expect(await reserve(next, 'a', 100)).toBeUndefined()
    // The worker that lost the run comes too late with all that it does.
    await settleCalls(platform.sql, lost, ['a'])
    await closeCalls(platform.sql, lost, 'own')
    expect(await reserve(lost, 'b', 1)).toBeUndefined()
    expect(await first()).toMatchObject({ spentTokens: 0, reservedTokens: 100 })
  })

  it('is settled by the journal when its worker was killed before it could', async () => {
    await set('day', { tokensMax: 100 })
    const lost = await start()
    await reserve(lost, 'a', 100)
    await journal(lost, 'a', { input_tokens: 60, output_tokens: 10 })
    await closeCalls(platform.sql, await takeOver(lost), 'former')
    expect(await first()).toMatchObject({ spentTokens: 70, reservedTokens: 0 })
  })

  it('is void when its run was stopped or deleted', async () => {
    await set('day', { tokensMax: 1000 })
    const [stopped, deleted, kept] = [await start(), await start(), await start()]
    for (const run of [stopped, deleted, kept]) await reserve(run, 'a', 100)
    await stopRun(platform.sql, stopped.id)
    await platform.sql`delete from executions where id = ${deleted.id}`
    await closeAbandonedCalls(platform.sql)
    expect(await first()).toMatchObject({ reservedTokens: 100 })
    await closeCalls(platform.sql, kept, 'own')
    expect(await first()).toMatchObject({ reservedTokens: 0, spentTokens: 0 })
  })
})

describe('many runs on one budget', () => {
  it('spend it exactly, and no more than its limit if they keep to their estimates', async () => {
    const max = PARALLEL * 120
    await set('day', { tokensMax: max, usdMax: 1_000_000 })
    await set('month', { tokensMax: max * 10 }, 'organization')
    await Promise.all(Array.from({ length: PARALLEL }, () => platform.enqueue()))
    const runs = await takeRuns(platform.sql, PARALLEL)
    expect(runs).toHaveLength(PARALLEL)
    let spent = 0
    const made = await Promise.all(
      runs.map(async (run, index) => {
        for (let step = 0; step < 4; step += 1) {
          const key = `s${step}`
          if (await reserve(run, key, 50)) return step
          const used = (index * 7 + step) % 51
          spent += used === 0 ? 50 : used
          await finish(run, key, used)
          const [day] = await budgets()
          expect(day && day.spentTokens + day.reservedTokens).toBeLessThanOrEqual(max)
        }
        return 4
      }),
    )
    expect(made.some((steps) => steps > 0)).toBe(true)
    for (const budget of await budgets()) {
      expect(budget).toMatchObject({ spentTokens: spent, reservedTokens: 0, reservedUsd: 0 })
    }
    const day = (await budgets()).find(({ period }) => period === 'day')
    expect(day?.spentUsd).toBeCloseTo(spent * 0.0001, 12)
  })

  it('never get more room at a time than there is', async () => {
    await set('day', { tokensMax: 1000 })
    await Promise.all(Array.from({ length: PARALLEL }, () => platform.enqueue()))
    const runs = await takeRuns(platform.sql, PARALLEL)
    const answers = await Promise.all(runs.map((run) => reserve(run, 'a', 100)))
    expect(answers.filter((refusal) => refusal === undefined)).toHaveLength(10)
    expect(await first()).toMatchObject({ reservedTokens: 1000 })
  })
})

type Act =
  | { readonly do: 'reserve' | 'finish'; readonly step: number; readonly tokens: number }
  | { readonly do: 'fail'; readonly step: number }
  | { readonly do: 'take over' | 'close' | 'sweep' }

const step = fc.integer({ min: 0, max: 4 })
const tokensOf = (max: number) => fc.integer({ min: 1, max })
const act = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('reserve'), step, tokens: tokensOf(60) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('finish'), step, tokens: tokensOf(90) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fail'), step }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('take over', 'close', 'sweep') }) },
) as fc.Arbitrary<Act>

const MAX = 200

/** A run on a budget, and what its ledger has to say. */
async function openModel() {
  let run = await start()
  let spent = 0
  /** The most by which calls used more than they had asked for. */
  let beyond = 0
  const open = new Map<number, number>()
  const done = new Set<number>()
  const held = () => [...open.values()].reduce((sum, each) => sum + each, 0)

  async function reserveOne(at: number, tokens: number): Promise<void> {
    if (open.has(at) || done.has(at)) return
    const isRefused = (await reserve(run, String(at), tokens)) !== undefined
    expect(isRefused).toBe(spent + held() + tokens > MAX)
    if (!isRefused) open.set(at, tokens)
  }

  async function finishOne(at: number, tokens: number): Promise<void> {
    const asked = open.get(at)
    if (asked === undefined) return
    await finish(run, String(at), tokens)
    open.delete(at)
    done.add(at)
    spent += tokens
    beyond += Math.max(0, tokens - asked)
  }

  async function failOne(at: number): Promise<void> {
    if (!open.delete(at)) return
    await journal(run, String(at))
    await settleCalls(platform.sql, run, [String(at)])
  }

  async function close(whose: 'own' | 'former'): Promise<void> {
    if (whose === 'former') run = await takeOver(run)
    await closeCalls(platform.sql, run, whose)
    open.clear()
  }

  return {
    async perform(one: Act): Promise<void> {
      if (one.do === 'reserve') await reserveOne(one.step, one.tokens)
      else if (one.do === 'finish') await finishOne(one.step, one.tokens)
      else if (one.do === 'fail') await failOne(one.step)
      else if (one.do === 'sweep') await closeAbandonedCalls(platform.sql)
      else await close(one.do === 'close' ? 'own' : 'former')
    },
    async check(): Promise<void> {
      expect(await first()).toMatchObject({ spentTokens: spent, reservedTokens: held() })
      expect(spent + held()).toBeLessThanOrEqual(MAX + beyond)
    },
  }
}

describe('any order of what happens to calls', () => {
  it('leaves a ledger that is the sum of what was settled and of what is in flight', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 25 }), async (acts) => {
        await platform.sql`delete from executions`
        await platform.sql`delete from budgets`
        await set('day', { tokensMax: MAX })
        const model = await openModel()
        for (const one of acts) {
          await model.perform(one)
          await model.check()
        }
      }),
      { numRuns: RUNS },
    )
  })
})

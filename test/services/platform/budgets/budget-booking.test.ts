import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { bookingOf } from '../../../../services/platform/budgets/budget-booking.ts'
import { reserveCall } from '../../../../services/platform/budgets/budget-ledger.ts'
import type { PlannedCall } from '../../../../services/platform/budgets/budget-ledger.ts'
import { listBudgets, setBudget } from '../../../../services/platform/budgets/budgets.ts'
import { encodeEntries } from '../../../../services/platform/runs/journal-entries.ts'
import type { StepRecord } from '../../../../services/platform/runs/journal-entries.ts'
import { recordTogether } from '../../../../services/platform/runs/record-progress.ts'
import type { LeasedRun } from '../../../../services/platform/runs/run-queue.ts'
import { useOneAutomation } from '../one-automation.ts'

const platform = useOneAutomation()
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 8)
const MAX = 1000
const at = new Date().toISOString()

beforeEach(async () => {
  await platform.sql`delete from budgets`
  const { organizationId } = platform.automation
  const key = { organizationId, deploymentId: null, period: 'month' } as const
  await setBudget(platform.sql, key, { tokensMax: MAX, usdMax: null, unpriced: 'refuse' })
})

async function ledger() {
  const { organizationId } = platform.automation
  const [budget] = await listBudgets(platform.sql, { organizationId })
  return { spent: budget?.spentTokens, reserved: budget?.reservedTokens }
}

async function takeMany(count: number): Promise<LeasedRun[]> {
  const runs: LeasedRun[] = []
  for (let taken = 0; taken < count; taken += 1) {
    await platform.enqueue()
    runs.push(await platform.takeOne())
  }
  return runs
}

const call = (step: string, tokens: number): PlannedCall => ({
  step,
  inputTokens: tokens,
  outputTokens: 0,
  price: undefined,
})

/** A step that began or, with the tokens that it used, finished. */
const step = (key: string, used?: number): StepRecord => ({
  key,
  kind: 'llm',
  name: 'm',
  path: [key],
  startedAt: at,
  ...(used === undefined
    ? { state: 'started' as const }
    : {
        state: 'finished' as const,
        endedAt: at,
        result: 1,
        usage: { input_tokens: used, output_tokens: 0 },
      }),
})

/** What one run reports: calls that begin, and steps that finished with what they used. */
interface Report {
  readonly run: LeasedRun
  readonly begun?: readonly PlannedCall[]
  readonly finished?: Readonly<Record<string, number>>
}

async function commit(reports: readonly Report[]) {
  const written = await recordTogether(
    platform.sql,
    reports.map(({ run, begun = [], finished = {} }) => ({
      lease: run,
      entries: encodeEntries({
        events: [],
        steps: [
          ...begun.map((each) => step(each.step)),
          ...Object.entries(finished).map(([key, used]) => step(key, used)),
        ],
        calls: begun,
      }),
    })),
  )
  return written.map(({ booking = bookingOf({ asked: [], settled: [], warnings: [] }) }) => ({
    reserved: [...booking.reserved].toSorted(),
    settled: [...booking.settled].toSorted(),
    warnings: booking.warnings.length,
  }))
}

const nothing = { reserved: [], settled: [], warnings: 0 }

describe('the calls that begin and end in one commit of the journal', () => {
  it('are reserved for and settled in that commit, for all runs together', async () => {
    const [one, other] = await takeMany(2)
    if (!one || !other) throw new Error('nothing was taken')
    // Nobody has called a model this month: the ledger is opened by the first call itself.
    expect(await commit([{ run: one, begun: [call('a', 100)] }])).toEqual([nothing])
    expect(await reserveCall(platform.sql, one, call('a', 100))).toBe(true)
    const second = [
      { run: one, begun: [call('b', 200)], finished: { a: 70 } },
      { run: other, begun: [call('a', 300)] },
    ]
    expect(await commit(second)).toEqual([
      { reserved: ['b'], settled: ['a'], warnings: 0 },
      { reserved: ['a'], settled: [], warnings: 0 },
    ])
    expect(await ledger()).toEqual({ spent: 70, reserved: 500 })
    // As after a connection that was lost before the answer.
    expect(await commit(second)).toEqual([
      { reserved: ['b'], settled: [], warnings: 0 },
      { reserved: ['a'], settled: [], warnings: 0 },
    ])
    expect(await ledger()).toEqual({ spent: 70, reserved: 500 })
  })

  it('get nothing where they have no room together, and may be asked for one by one', async () => {
    const [one, other] = await takeMany(2)
    if (!one || !other) throw new Error('nothing was taken')
    expect(await reserveCall(platform.sql, one, call('a', 100))).toBe(true)
    const reports = [
      { run: one, begun: [call('b', 900)] },
      { run: other, begun: [call('a', 50)] },
    ]
    expect(await commit(reports)).toEqual([nothing, nothing])
    expect(await ledger()).toEqual({ spent: 0, reserved: 100 })
    expect(await reserveCall(platform.sql, other, call('a', 50))).toBe(true)
    expect(await reserveCall(platform.sql, one, call('b', 900))).toMatchObject({ limit: 'tokens' })
  })

  it('warn once when they have used 80 % of a limit', async () => {
    const [one, other] = await takeMany(2)
    if (!one || !other) throw new Error('nothing was taken')
    for (const run of [one, other]) await reserveCall(platform.sql, run, call('a', 500))
    const ended = await commit([
      { run: one, finished: { a: 420 } },
      { run: other, finished: { a: 420 } },
    ])
    expect(ended.map(({ warnings }) => warnings).toSorted((a, b) => a - b)).toEqual([0, 1])
    expect(await commit([{ run: one, finished: { a: 420 } }])).toEqual([nothing])
    expect(await ledger()).toEqual({ spent: 840, reserved: 0 })
  })

  it('are free for a run that no budget is for', async () => {
    await platform.sql`delete from budgets`
    const [run] = await takeMany(1)
    if (!run) throw new Error('nothing was taken')
    const entries = encodeEntries({ events: [], steps: [step('a')], calls: [call('a', 1)] })
    const [written] = await recordTogether(platform.sql, [{ lease: run, entries }])
    expect(written?.booking?.free).toEqual(new Set(['a']))
  })

  it('leave a ledger that is exact and never over its limit', async () => {
    const begun = fc.nat({ max: 260 })
    const turn = fc.array(fc.record({ run: fc.nat({ max: 2 }), begun, used: begun }), {
      minLength: 1,
      maxLength: 4,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 6 }), async (turns) => {
        await platform.sql`truncate executions cascade`
        await platform.sql`update budget_ledgers set spent_tokens = 0, reserved_tokens = 0`
        const runs = await takeMany(3)
        const open = runs.map(() => new Map<string, number>())
        let spent = 0
        const warm = runs[0]
        if (warm) await reserveCall(platform.sql, warm, call('warm', 0))
        for (const [number, actions] of turns.entries()) {
          // Each run ends what it had open, and begins what it was told to.
          const reports = runs.map((run, index) => {
            const own = actions.filter((each) => each.run === index)
            const calls = own.map((each, at) => call(`${number}-${at}`, each.begun))
            const used = own[0]?.used ?? 0
            return {
              run,
              begun: calls,
              finished: mapValues(open[index], (of) => Math.min(used, of)),
            }
          })
          const booked = await commit(reports)
          reports.forEach(({ begun: calls, finished }, index) => {
            // A call without a usage is taken to have used what was reserved.
            for (const [key, used] of Object.entries(finished)) {
              spent += used === 0 ? (open[index]?.get(key) ?? 0) : used
            }
            const got = calls.filter((each) => booked[index]?.reserved.includes(each.step))
            open[index] = new Map(got.map((each) => [each.step, each.inputTokens]))
            expect(booked[index]?.settled).toEqual(Object.keys(finished).toSorted())
          })
          const reserved = open.flatMap((each) => [...each.values()]).reduce((a, b) => a + b, 0)
          expect(await ledger()).toEqual({ spent, reserved })
          expect(spent + reserved).toBeLessThanOrEqual(MAX)
        }
      }),
      { numRuns: RUNS },
    )
  })
})

const mapValues = (
  map: ReadonlyMap<string, number> | undefined,
  change: (value: number) => number,
): Record<string, number> =>
  Object.fromEntries([...(map ?? [])].map(([key, value]) => [key, change(value)]))

import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { contextOf } from '../../../infra/render.ts'
import { runDoctor } from '../../../services/doctor/doctor.ts'
import { demandOf, planCapacity } from '../../../services/doctor/plan/capacity.ts'
import type { Load } from '../../../services/doctor/plan/capacity.ts'
import { costOf, ratiosOf, RECORDED } from '../../../services/doctor/plan/ratios.ts'
import { readWish } from '../../../services/doctor/plan/wish.ts'
import { RELEASE } from '../../infra/support/platform.ts'
import { surroundings } from './support/surroundings.ts'

const doctor = (...args: string[]) => runDoctor(args, {}, surroundings())

describe('a load', () => {
  it.each([
    ['10M spans/day', { spans: { perDay: 10e6, peakPerSecond: (3 * 10e6) / 86_400 } }],
    ['5 runs/s', { runs: { perDay: 432_000, peakPerSecond: 5 } }],
    ['2000 runs/h', { runs: { perDay: 48_000, peakPerSecond: 2000 / 1200 } }],
    ['120 runs / min', { runs: { perDay: 172_800, peakPerSecond: 2 } }],
    ['90 days', { days: 90 }],
    ['13 weeks', { days: 91 }],
    ['1 run/s, 2.5 s/run', { runs: { perDay: 86_400, peakPerSecond: 1 }, runSeconds: 2.5 }],
    ['1.5k spans/s , 1 day', { spans: { perDay: 129.6e6, peakPerSecond: 1500 }, days: 1 }],
  ])('%s is read', (text, wish) => expect(readWish(text)).toEqual(wish))

  it.each([
    ['', 'names no load'],
    ['-5 runs/s', '"-5" in "-5 runs/s" is no amount'],
    ['0 days', '"0" in "0 days" is no amount'],
    ['1e6 spans/day', '"1e6" in "1e6 spans/day" is no amount'],
    ['NaN runs/s', '"NaN" in "NaN runs/s" is no amount'],
    ['10m spans/day', '"m" in "10m spans/day" is not known: k, M or G'],
    ['5 runs', '"5 runs" does not say in what time'],
    ['5 runs/fortnight', 'does not say in what time'],
    ['5 runs/constructor', 'does not say in what time'],
    ['5 rums/s', '"rums" in "5 rums/s" is not known. Did you mean runs?'],
    ['many', '"many" is not understood'],
    ['1.5 days', 'is no whole number of days'],
    ['90 days/s', 'is no whole number of days'],
    ['200G spans/day', 'is too much: at most 100000000000 spans a day'],
    ['40000 days', 'at most 36400 days'],
    ['1 runs/s, 100000 s/run', 'at most 86400 seconds'],
    ['5 runs/s, 6 runs/h', '"6 runs/h" says the runs a second time'],
    ['30 days, 6 weeks', '"6 weeks" says how long data are kept a second time'],
    ['1000 spans/day, 5 runs/s', 'fewer than 432000 runs a day'],
    ['30 s/run', 'needs a rate of runs'],
    [`${'1'.repeat(300)} runs/s`, 'has 307 characters'],
  ])('%s is refused with what is allowed', (text, problem) => {
    expect(() => readWish(text)).toThrow(problem)
    expect(() => readWish(text)).toThrow('Allowed, with commas between: "10M spans/day"')
  })

  it('beyond one installation is refused, and so is one without a rate', async () => {
    for (const [plan, problem] of [
      ['50G spans/day, 3000 days', 'of traces a day for 3000 days are more'],
      ['1000 runs/s, 80000 s/run', 'pods of worker are more'],
      ['90 days', 'names no rate of spans or runs'],
    ] as const) {
      const { exitCode, stdout, stderr } = await doctor('--plan', plan)
      expect({ exitCode, stdout }).toEqual({ exitCode: 64, stdout: '' })
      expect(stderr).toContain(problem)
    }
  })

  it('goes with no option of another command', async () => {
    const { exitCode, stderr } = await doctor('--plan', '5 runs/s', '--url', 'https://x.example')
    expect(exitCode).toBe(64)
    expect(stderr).toContain('--url does not go with --plan')
  })
})

/** A row of a table of the recorded measurements. */
const README = readFileSync(new URL('../../bench/README.md', import.meta.url), 'utf8')
function recorded(row: string): number[] {
  const line = README.split('\n').find((each) => each.startsWith(`| ${row} `)) ?? ''
  return [...line.slice(row.length + 2).matchAll(/[\d.,]+/g)].map(([text]) =>
    Number(text.replaceAll(',', '')),
  )
}

describe('the recorded ratios', () => {
  const spans = recorded('spans a second')
  const within = (value: number, measured = NaN): void => {
    expect(value / measured).toBeGreaterThan(0.8)
    expect(value / measured).toBeLessThan(1.2)
  }

  it.each([0, 1, 2, 3])('give day %i of the measurements back within 20 %%', (day) => {
    const perSecond = spans[day] ?? 0
    const rate = { perDay: perSecond * 86_400, peakPerSecond: perSecond }
    const demand = demandOf(
      { spans: rate, runs: { perDay: 0, peakPerSecond: 0 }, days: 7 },
      RECORDED,
    )
    within(demand.collectorCores, recorded('cores of the collectors')[day])
    within(demand.traceDatabaseCores, recorded('cores of PostgreSQL')[day])
    within(demand.traceBytesPerDay / 1e9, recorded('stored, GB a day')[day])
    within(demand.traceWalBytesPerDay / 1e9, recorded('WAL, GB a day')[day])
  })

  it('have a run of the queue within 20 % of one worker', () => {
    const [, , , workers] = recorded('      1')
    within(RECORDED.runInWorker.value * 1000, workers)
  })

  it('cost no more for a unit when there are more of them', () => {
    const rate = fc.double({ min: 0, max: 1e6, noNaN: true })
    fc.assert(
      fc.property(rate, rate, (a, b) => {
        const [less, more] = [Math.min(a, b), Math.max(a, b)]
        for (const cost of [RECORDED.spanInCollector, RECORDED.spanInPostgres]) {
          expect(costOf(cost, more)).toBeGreaterThanOrEqual(costOf(cost, less))
          expect(costOf(cost, more) * less).toBeLessThanOrEqual(costOf(cost, less) * more + 1e-6)
        }
      }),
    )
  })
})

describe('a plan', () => {
  it('says the value, the reason and its source', () => {
    const load = { ...readWish('1000M spans/day, 5 runs/s'), days: 28 } as Load
    const { lines, advice } = planCapacity(load, ratiosOf({ runSeconds: 4 }))
    const shown = Object.fromEntries(lines.map(({ key, value, from }) => [key, `${value} ${from}`]))
    expect(shown).toMatchObject({
      'collector.replicaCount': '2 bench',
      'collector.config.retentionWeeks': '4 load',
      'worker.replicaCount': '2 here',
      'worker.concurrency': '50 here',
      'postgres.resources.limits.cpu': '2 bench',
      'runs.retentionDays': '28 load',
    })
    expect(lines.find(({ key }) => key === 'collector.config.maxStorageBytes')?.reason).toBe(
      '1,000,000,000 spans/day × 1.1 kB = 1.1 TB a day, 4 weeks and today, and a fifth more',
    )
    expect(advice.join('\n')).toMatch(/^collector\.archive is advised: enabled true, hotDays 7,/)
    expect(advice.join('\n')).toContain('A server for the traces (collector.database) is advised')
    expect(advice.join('\n')).toContain('Citus is not needed.')
  })

  it('advises Citus where roll-ups of one server fall behind, and files for years', () => {
    const rate = (text: string) => ({ runs: { perDay: 0, peakPerSecond: 0 }, ...readWish(text) })
    const advice = (text: string) => planCapacity(rate(text) as Load, RECORDED).advice.join('\n')
    expect(advice('40k spans/s, 7 days')).toContain('Citus is advised: 3,460,000,000 spans/day')
    expect(advice('1M spans/day, 90 days')).toContain('collector.archive is not needed')
    expect(advice('1M spans/day, 365 days')).toContain('hotDays 30, coldDays 365')
  })

  it('takes more steps for more work', () => {
    const [two, six] = [ratiosOf({}), ratiosOf({ runSteps: 6 })]
    expect(six.runInPostgres.value / two.runInPostgres.value).toBeCloseTo(3)
    expect(six.runBytes).toEqual({ value: two.runBytes.value * 3, from: 'assumed' })
    expect(ratiosOf({ runSteps: 6, runBytes: 5 }).runBytes).toEqual({ value: 5, from: 'here' })
  })

  const loads = fc.record({
    spans: fc.double({ min: 1, max: 5e8, noNaN: true }),
    runs: fc.double({ min: 0, max: 1e6, noNaN: true }),
    days: fc.integer({ min: 1, max: 200 }),
    seconds: fc.double({ min: 0.1, max: 60, noNaN: true }),
  })
  type Given = typeof loads extends fc.Arbitrary<infer Value> ? Value : never
  const planOf = ({ spans, runs, days, seconds }: Given) =>
    planCapacity(
      {
        spans: { perDay: spans, peakPerSecond: (spans / 86_400) * 3 },
        runs: { perDay: runs, peakPerSecond: (runs / 86_400) * 3 },
        days,
      },
      ratiosOf({ runSeconds: seconds }),
    ).lines

  /** What all pods and volumes have together. */
  function resources(given: Given): Record<string, number> {
    const lines = new Map(planOf(given).map(({ key, value }) => [key, value]))
    const number = (key: string): number => Number.parseFloat(String(lines.get(key)))
    const all = ['web', 'worker', 'collector'].map((name) => [
      `${name} requests`,
      number(`${name}.replicaCount`) * number(`${name}.resources.requests.cpu`),
    ])
    const inHand = number('worker.replicaCount') * number('worker.concurrency')
    const single = [
      'web.replicaCount',
      'collector.replicaCount',
      'postgres.resources.limits.cpu',
      'postgres.resources.requests.cpu',
      'postgres.storage.size',
      'collector.config.retentionWeeks',
      'collector.config.maxStorageBytes',
      'runs.retentionDays',
    ].map((key) => [key, number(key)])
    return { ...Object.fromEntries([...all, ...single]), inHand } as Record<string, number>
  }

  it('never has fewer resources for more of anything', () => {
    const more = fc.double({ min: 1, max: 5, noNaN: true })
    const which = fc.constantFrom('spans', 'runs', 'days', 'seconds')
    fc.assert(
      fc.property(loads, which, more, (load, name, factor) => {
        const grown = { ...load, [name]: load[name] * factor }
        const before = resources(load)
        const after = resources({ ...grown, days: Math.ceil(grown.days) })
        for (const [key, value] of Object.entries(before)) {
          expect(after[key], key).toBeGreaterThanOrEqual(value)
        }
      }),
      { numRuns: 150 },
    )
  })

  it('prints YAML that the chart takes, with all else in comments', async () => {
    const rate = fc.record({
      spans: fc.integer({ min: 1000, max: 1e6 }),
      runs: fc.integer({ min: 1, max: 10 }),
      days: fc.integer({ min: 1, max: 400 }),
    })
    await fc.assert(
      fc.asyncProperty(rate, async ({ spans, runs, days }) => {
        const plan = `${spans * 1000} spans/day, ${runs} runs/s, ${days} days, 9 s/run`
        const { exitCode, stdout } = await doctor('--plan', plan)
        expect(exitCode).toBe(0)
        const values: unknown = parse(stdout)
        // Raises a ValuesError for a key or a value that is none, and for broken rules.
        contextOf([values], RELEASE)
        const json = await doctor('--plan', plan, '--json')
        expect((JSON.parse(json.stdout) as { values: unknown }).values).toEqual(values)
      }),
      { numRuns: 10 },
    )
  })
})

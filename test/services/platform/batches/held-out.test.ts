import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { forecastBatch } from '../../../../services/platform/batches/forecast.ts'
import type { Forecast, RowSizes } from '../../../../services/platform/batches/forecast.ts'
import { findPrice } from '../../../../services/shared/prices/find-price.ts'
import { loadPrices } from '../../../../services/shared/prices/load-prices.ts'
import { isLong } from '../../../support/long.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { useDatabase } from '../../../support/use-database.ts'

const JOURNALS = isLong ? 40 : 3
const MEASURED = 500
const HELD_OUT = 1000
const MODELS = ['gpt-5.4', 'gpt-5.4-mini'] as const

const at = useDatabase()
let automation: Automation
const prices = await loadPrices(undefined)

beforeAll(async () => {
  automation = await seedAutomation(at.sql, { organization: 'Acme', slug: 'research' })
})
beforeEach(() => at.sql`delete from executions`)

interface Call {
  readonly model: string
  readonly input: number
  readonly output: number
}

/** What a run was given and took. */
interface Journal {
  readonly characters: number
  readonly seconds: number
  readonly isFailed: boolean
  readonly calls: readonly Call[]
}

/**
 * Draws runs as agents perform them: the conversation grows with each call of a tool, a few runs
 * take many more calls than others, some fail after their first, some calls wait for a provider
 * that is slow, and some are answered by the fallback.
 */
function openRuns(seed: number) {
  let state = seed
  const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
  const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random())
  const around = (middle: number, spread: number) => middle * Math.exp(spread * normal())
  const prompt = around(1200, 0.5)
  const tools = 0.3 + 0.4 * random()

  return function draw(): Journal {
    const characters = Math.min(Math.ceil(around(2000, 0.9)), 60_000)
    const isFailed = random() < 0.05
    const model = random() < 0.08 ? MODELS[1] : MODELS[0]
    const calls: Call[] = []
    let [input, seconds] = [prompt + characters / 3.5, random()]
    do {
      const output = Math.ceil(around(250, 0.7))
      calls.push({ model, input: Math.ceil(input), output })
      input += output + around(600, 1)
      seconds += around(2, 0.5) + (random() < 0.03 ? around(20, 0.4) : 0)
    } while (!isFailed && calls.length < 20 && random() < tools)
    return { characters, seconds, isFailed, calls }
  }
}

/** Writes runs into the journal of the automation, as workers do. */
const record = (runs: readonly Journal[]) => at.sql`
  with given as materialized (
    select *, new_run_id() as id from json_to_recordset(${JSON.stringify(runs)}::text::json)
      as g (characters int, seconds float8, "isFailed" boolean, calls json)),
  ended as (
    insert into executions (id, deployment_id, inputs, status, output, error, started_at,
      finished_at)
    select id, ${automation.id}, jsonb_build_object('topic', repeat('x', characters)),
      case when "isFailed" then 'error' else 'completed' end,
      case when not "isFailed" then '' end,
      case when "isFailed" then '{"code": "x", "message": "x"}'::jsonb end,
      now() - make_interval(secs => seconds), now()
    from given)
  insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt, started_at,
    ended_at, usage, result)
  select id, place::text, place, 'llm', call ->> 'model', '[]', 'finished', 1, now(), now(),
    jsonb_build_object('input_tokens', call -> 'input', 'output_tokens', call -> 'output'), '{}'
  from given, json_array_elements(calls) with ordinality as c (call, place)`

const tokensOf = ({ calls }: Journal): number =>
  calls.reduce((sum, { input, output }) => sum + input + output, 0)

const costOf = ({ calls }: Journal): number =>
  calls.reduce((sum, { model, input, output }) => {
    const price = findPrice(prices, { model, organization: '1', at: new Date() })
    return sum + (input * (price?.input ?? NaN) + output * (price?.output ?? NaN)) / 1e6
  }, 0)

/** The shares of some runs that took at most what a forecast says that 95 % take. */
function below(runs: readonly Journal[], { tokens, cost, time }: Forecast): number[] {
  const share = (takes: (run: Journal) => number, most = NaN) =>
    runs.filter((run) => takes(run) <= most * (1 + 1e-9)).length / runs.length
  return [
    share(tokensOf, tokens?.runP95),
    share(costOf, cost?.runP95),
    share(({ seconds }) => seconds * 1000, time?.runP95),
  ]
}

const isWithin = (run: Journal, { smallest, largest }: RowSizes): boolean =>
  run.characters >= smallest && run.characters <= largest

/** The means of these shares over some journals. */
async function measure(sizes?: RowSizes): Promise<number[]> {
  const sums = [0, 0, 0]
  for (let seed = 1; seed <= JOURNALS; seed += 1) {
    await at.sql`delete from executions`
    const draw = openRuns(seed * 7919)
    await record(Array.from({ length: MEASURED }, draw))
    const forecast = await forecastBatch(at.sql, automation, { rows: 1, sizes })
    expect(forecast).toMatchObject({ isBySize: sizes !== undefined, isByVersion: true })
    const heldOut: Journal[] = []
    while (heldOut.length < HELD_OUT) {
      const run = draw()
      if (!sizes || isWithin(run, sizes)) heldOut.push(run)
    }
    below(heldOut, forecast).forEach((share, index) => (sums[index] = (sums[index] ?? 0) + share))
  }
  return sums.map((sum) => sum / JOURNALS)
}

describe('of the runs that a forecast has not seen', () => {
  it.each<[string, RowSizes | undefined]>([
    ['of inputs of all sizes', undefined],
    ['of a batch of rows that are alike', { smallest: 1500, largest: 2500 }],
    ['of a batch of large rows', { smallest: 4000, largest: 8000 }],
    ['of a batch of rows of many sizes', { smallest: 800, largest: 6000 }],
  ])('%s: 0.95 ± 0.03 take at most its p95, in tokens, dollars and time', async (_, sizes) => {
    for (const share of await measure(sizes)) expect(Math.abs(share - 0.95)).toBeLessThan(0.03)
  })
})

import { describe, expect, it } from 'vitest'
import { forecastBatch } from '../../../services/platform/batches/forecast.ts'
import { publishVersion } from '../../../services/platform/projects/project-versions.ts'
import { definition } from '../../support/crew.ts'
import { says } from '../crew/fake-model.ts'
import type { Answer } from '../crew/fake-model.ts'
import { openWorker } from './harness.ts'

const RUNS = 240
const SPLITS = 40

const { platform, model, deploy } = await openWorker()
const { sql, automation } = platform

let state = 11
const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
const draw = (middle: number): number => Math.ceil(middle * Math.exp(Math.tan(random() - 0.5)))

/** Takes tokens, and some of them time. */
const answers: Answer = (response, request) =>
  says('Facts.', { prompt_tokens: draw(900), completion_tokens: draw(200) })(response, request)

interface Taken {
  readonly id: string
  readonly tokens: number
  readonly ms: number
}

describe('of runs that the platform performed', () => {
  it('95 ± 3 % of those held out take at most the p95 of the others', async () => {
    await deploy()
    model.play(answers)
    await platform.startWorker()
    const ids: string[] = []
    for (let run = 0; run < RUNS; run += 1) ids.push(await platform.kickoff())
    const ended = async () => (await sql`select from executions where status = 'completed'`).count
    await expect.poll(ended, { timeout: 240_000, interval: 500 }).toBe(RUNS)
    const taken = await sql<Taken[]>`
      select id, extract(epoch from finished_at - started_at)::float8 * 1000 as ms,
        (usage ->> 'inputTokens')::float8 + (usage ->> 'outputTokens')::float8 as tokens
      from executions`
    const [{ projectId }] = await sql<[{ projectId: number }]>`
      select project_id from project_versions where id = ${automation.projectVersionId}`
    const other = await publishVersion(sql, projectId, { ...definition, llm: { model: 'other' } })
    let [tokensBelow, timesBelow, all] = [0, 0, 0]
    for (let split = 0; split < SPLITS; split += 1) {
      const heldOut = taken.filter(() => random() < 0.5)
      await sql`update executions set project_version_id = ${automation.projectVersionId}`
      await sql`
        update executions set project_version_id = ${other.id}
        where id = any(${heldOut.map(({ id }) => id)}::uuid[])`
      const { tokens, time, runs } = await forecastBatch(sql, automation, { rows: 1 })
      expect(runs).toBe(RUNS - heldOut.length)
      all += heldOut.length
      tokensBelow += heldOut.filter((each) => each.tokens <= (tokens?.runP95 ?? NaN)).length
      timesBelow += heldOut.filter((each) => each.ms <= (time?.runP95 ?? NaN) + 1e-6).length
    }
    expect(Math.abs(tokensBelow / all - 0.95)).toBeLessThan(0.03)
    expect(Math.abs(timesBelow / all - 0.95)).toBeLessThan(0.03)
  }, 300_000)
})

import { beforeEach, describe, expect, it } from 'vitest'
import type { Check } from '../../../services/platform/evaluations/checks.ts'
import {
  findRunScore,
  finishScore,
  lineUpScores,
  takeScores,
} from '../../../services/platform/evaluations/run-scores.ts'
import { saveScoreRule } from '../../../services/platform/evaluations/score-rules.ts'
import { parseCrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { seedAutomation } from '../../support/platform.ts'
import { definition } from '../../support/crew.ts'
import { asks, says } from '../crew/fake-model.ts'
import { openWorker } from './harness.ts'

const { platform, model, publish, deploy } = await openWorker()
const { sql, automation } = platform
const [agent] = definition.agents
const [, task] = definition.tasks

const crew = parseCrewDefinition({
  ...definition,
  agents: [{ ...agent, tools: ['now'] }],
  tasks: [{ ...task, agent: 'researcher' }],
  tools: { now: { type: 'time' } },
})

beforeEach(async () => {
  for (const table of ['score_rules', 'run_scores', 'budgets', 'executions']) {
    await sql`delete from ${sql(table)}`
  }
})

const scoreBy = (checks: readonly Check[], scoredShare = 100) =>
  saveScoreRule(sql, automation, { reviewedShare: 0, scoredShare, checks })

/** Looks for runs that ended, as if it were time. */
async function lineUp(): Promise<number> {
  await sql`update score_rules set looked_at = null`
  return lineUpScores(sql)
}

const insertRun = async (fields: object = {}): Promise<string> => {
  const row = { deploymentId: automation.id, inputs: sql.json({}), status: 'completed' }
  const [{ now }] = await sql<[{ now: Date }]>`select now() + interval '1 millisecond' as now`
  const [{ id }] = await sql<[{ id: string }]>`
    insert into executions ${sql({ ...row, output: 'Out.', finishedAt: now, ...fields })}
    returning id`
  return id
}

async function scored(id: string) {
  await expect.poll(async () => (await findRunScore(sql, id))?.scoredAt).toBeTruthy()
  return findRunScore(sql, id)
}

describe('the score of a run', () => {
  it('is made of its record once it ended, and asks a judge that is paid for', async () => {
    await deploy()
    await publish(crew)
    await platform.startWorker()
    const judge: Check = { type: 'judge', model: 'judges', rubric: 'Be kind.', times: 1 }
    await scoreBy([
      { type: 'tool_called', tool: 'now' },
      { type: 'at_most', tokens: 40, seconds: 60 },
      { type: 'contains', text: 'tides' },
      judge,
    ])
    await sql`
      insert into budgets (organization_id, period, tokens_max)
      values (${automation.organizationId}, 'day', 1000000)`
    model.play((response, request) => {
      const { messages } = request.body
      if (request.body.model === 'judges') {
        return says(JSON.stringify({ passed: true, reason: 'Kind.' }))(response, request)
      }
      return (messages.at(-1)?.role === 'tool' ? says('Of tides.') : asks(['now', {}]))(
        response,
        request,
      )
    })
    const id = await platform.kickoff()
    await platform.until(id, 'completed')
    expect(await lineUp()).toBe(1)
    expect(await scored(id)).toMatchObject({
      state: 'passed',
      findings: [
        { type: 'tool_called', state: 'passed' },
        { type: 'at_most', state: 'passed' },
        { type: 'contains', state: 'passed' },
        { type: 'judge', state: 'passed', reason: 'Kind.', tokens: 15 },
      ],
      tokens: 15,
      usd: null,
    })
    const [ledger] = await sql`select spent_tokens::int as spent from budget_ledgers`
    expect(ledger).toEqual({ spent: 45 })
    // A judge is no run, and a run is scored once.
    expect(await sql`select from executions`).toHaveLength(1)
    expect(await lineUp()).toBe(0)

    model.play(says('It passes, I think.'))
    await scoreBy([judge])
    const second = await insertRun()
    await lineUp()
    expect(await scored(second)).toMatchObject({ state: 'error', findings: [{ state: 'error' }] })
    await sql`update budgets set tokens_max = 1`
    const [third, asked] = [await insertRun(), model.requests.length]
    await lineUp()
    expect(await scored(third)).toMatchObject({
      state: 'error',
      findings: [{ reason: expect.stringContaining('budget') }],
    })
    expect(model.requests.length).toBe(asked)
  })

  it('is of a share of the runs that complete from then on, of this automation', async () => {
    const before = await insertRun()
    await sql`update executions set finished_at = now() - interval '1 minute' where id = ${before}`
    await scoreBy([{ type: 'tool_not_called', tool: 'mail' }], 40)
    const other = await seedAutomation(sql, { organization: 'Rival', slug: 'other' })
    await insertRun({ deploymentId: other.id })
    await insertRun({ status: 'error', output: null, error: sql.json({}) })
    await insertRun({ status: 'queued', output: null, finishedAt: null })
    for (let run = 0; run < 100; run += 1) await insertRun()
    const count = await lineUp()
    expect(count).toBeGreaterThan(20)
    expect(count).toBeLessThan(60)
    const rows = await sql`select distinct deployment_id from run_scores`
    expect([...rows]).toEqual([{ deploymentId: automation.id }])
    await scoreBy([], 0)
    await insertRun()
    expect(await lineUp()).toBe(0)
  })

  it('waits with 1,000 others at the most, whatever ends meanwhile', async () => {
    await scoreBy([{ type: 'tool_not_called', tool: 'mail' }])
    await sql`
      insert into executions (deployment_id, inputs, status, output, finished_at)
      select ${automation.id}, '{}', 'completed', '', now() from generate_series(1, 1100)`
    expect(await lineUp()).toBe(1000)
    expect(await lineUp()).toBe(0)
  })

  it('is that of one worker, also where another one is lost', async () => {
    await scoreBy([{ type: 'tool_not_called', tool: 'mail' }])
    const id = await insertRun()
    const both = await Promise.all([lineUpScores(sql), lineUpScores(sql)])
    expect(both.reduce((sum, each) => sum + each)).toBe(1)
    const [lost] = await takeScores(sql, 5)
    expect(await takeScores(sql, 5)).toEqual([])
    await sql`update run_scores set lease_expires_at = now() - interval '1 second'`
    const [taken] = await takeScores(sql, 5)
    expect([taken?.attempt, taken?.output, taken?.tools]).toEqual([2, 'Out.', []])
    if (lost) await finishScore(sql, lost, { state: 'failed', findings: [] })
    expect(await findRunScore(sql, id)).toMatchObject({ state: 'waiting' })
    if (taken) await finishScore(sql, taken, { state: 'passed', reason: 'a\0b', findings: [] })
    expect(await findRunScore(sql, id)).toMatchObject({ state: 'passed', reason: 'ab', usd: 0 })
  })
})

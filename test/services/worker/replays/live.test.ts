import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { parseCrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import { findReplayedRun } from '../../../../services/platform/replays/replay-results.ts'
import { definition } from '../../../support/crew.ts'
import { asks, refuses, says } from '../../crew/fake-model.ts'
import { agentsWith, openReplayStage } from './stage.ts'

const stage = await openReplayStage()
const { platform, model, publishVersion, replay, sql, server } = stage
const docs = stage.docsOf('look')
const base = { tools: { docs }, agents: agentsWith(['docs']) }
const [research, write] = definition.tasks
const reworded = { ...base, tasks: [research, { ...write, description: 'Abstract {topic}.' }] }
const LIVE = { mode: 'live', tokensMax: 100_000 } as const

beforeEach(async () => {
  await sql`delete from replays`
  await sql`delete from budgets`
  await stage.startAll()
})

afterAll(() => server.stop())

/** Performs a run with a call of a tool, and forgets who was asked. */
async function record(): Promise<string> {
  await publishVersion(base)
  model.play(says('Facts.'), asks(['look', { q: 'a' }]), says('A summary.'))
  const id = await platform.kickoff()
  await platform.until(id, 'completed')
  model.requests.length = 0
  server.calls.length = 0
  return id
}

async function replayOf(id: string, version: number, fields: object = LIVE) {
  const { id: replayId, runs, summary } = await replay(version, { kickoffIds: [id], ...fields })
  const [run] = runs
  return { run, summary, found: await findReplayedRun(sql, { replayId, runId: id }) }
}

describe('a live replay', () => {
  it('asks no one while each request is in the record', async () => {
    const id = await record()
    const { run, summary } = await replayOf(id, await publishVersion(base))
    expect(run).toMatchObject({ state: 'equal', askedTokens: null, usd: null })
    expect(summary).toMatchObject({ mode: 'live', askedTokens: 0 })
    expect([model.requests.length, server.calls.length]).toEqual([0, 0])
  })

  it('asks the model from the first request that differs, and tools from the record', async () => {
    const id = await record()
    const version = await publishVersion(reworded)
    model.play(asks(['look', { q: 'a' }]), says('An abstract.'))
    const { run, summary, found } = await replayOf(id, version)
    expect(run).toMatchObject({
      state: 'different',
      step: { kind: 'llm', path: ['write', 'writer', 'llm', '0'] },
      reason: 'test-model is asked something else at write / writer / llm / 0. The outputs differ.',
      askedTokens: 30,
      usage: { input_tokens: 30, output_tokens: 15 },
    })
    expect(found).toMatchObject({ output: 'An abstract.', recorded: { output: 'A summary.' } })
    expect(summary).toMatchObject({ askedTokens: 30, different: 1 })
    expect([model.requests.length, server.calls.length]).toEqual([2, 0])
  })

  it('calls no tool that the record does not answer: it is named, and the run ends', async () => {
    const id = await record()
    const version = await publishVersion(reworded)
    model.play(asks(['look', { q: 'other' }]), says('never'))
    const { run, found } = await replayOf(id, version)
    expect(run?.state).toBe('different')
    expect(run?.reason).toMatch(
      /^test-model is asked something else at write .*\. Then \S+ is asked at write \/ writer \/ /,
    )
    expect(run?.reason).toMatch(/it was not called, and the run ended\.$/)
    expect(found?.request).toMatchObject({ messages: expect.anything() })
    expect([model.requests.length, server.calls.length]).toEqual([1, 0])
  })

  it('says that the model failed', async () => {
    const id = await record()
    const version = await publishVersion(reworded)
    model.play(refuses(400, 'no'))
    const { run } = await replayOf(id, version)
    expect(run?.reason).toMatch(/ It failed then: .*HTTP 400/)
  })

  it('asks no model once its own tokens are used up', async () => {
    const id = await record()
    const version = await publishVersion(reworded)
    model.play(says('never'))
    const { run, summary } = await replayOf(id, version, { mode: 'live', tokensMax: 100 })
    expect(run?.reason).toMatch(/ The run ended there: the models of this replay may take no more/)
    expect(run).toMatchObject({ state: 'different', askedTokens: null })
    expect([summary?.askedTokens, model.requests.length]).toEqual([0, 0])
  })

  it('is charged to the budgets of days, and asks nothing once one is used up', async () => {
    const id = await record()
    const version = await publishVersion(reworded)
    await sql`
      insert into budgets (organization_id, period, tokens_max)
      select organization_id, 'day', 20000 from deployments limit 1`
    model.play(says('An abstract.'))
    await replayOf(id, version)
    const [ledger] = await sql`select spent_tokens::int as spent from budget_ledgers`
    expect(ledger).toEqual({ spent: 15 })
    await sql`update budgets set tokens_max = 15`
    const { run } = await replayOf(id, version)
    expect(run?.reason).toMatch(/ The run ended there: a budget is used up/)
    expect(model.requests.length).toBe(1)
  })

  it('adds no run, no event and no step', async () => {
    const id = await record()
    const version = await publishVersion(reworded)
    const count = () => sql`
      select (select count(*) from executions) as runs, (select count(*) from run_steps) as steps,
        (select count(*) from execution_events) as events`
    const before = await count()
    model.play(asks(['look', { q: 'a' }]), says('An abstract.'))
    await replayOf(id, version)
    expect(await count()).toEqual(before)
    expect(parseCrewDefinition({ ...definition, ...reworded }).tasks).toHaveLength(2)
  })
})

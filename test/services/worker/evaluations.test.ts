import { beforeEach, describe, expect, it } from 'vitest'
import { createCaseSet } from '../../../services/platform/evaluations/case-sets.ts'
import { addCases } from '../../../services/platform/evaluations/cases.ts'
import type { CaseFields } from '../../../services/platform/evaluations/cases.ts'
import type { Check } from '../../../services/platform/evaluations/checks.ts'
import {
  createEvaluation,
  findEvaluation,
} from '../../../services/platform/evaluations/evaluations.ts'
import type { EvaluationFields } from '../../../services/platform/evaluations/evaluations.ts'
import { listResults } from '../../../services/platform/evaluations/evaluation-results.ts'
import { parseCrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { createVersion } from '../../../services/platform/projects/project-versions.ts'
import { definition } from '../../support/crew.ts'
import { asks, refuses, says } from '../crew/fake-model.ts'
import type { Answer } from '../crew/fake-model.ts'
import { openWorker } from './harness.ts'

const { platform, model, publish, deploy } = await openWorker()
const { sql, automation } = platform
const [agent] = definition.agents
const [, task] = definition.tasks

/** A crew of one call of a model, unless it uses a tool. */
const crew = (change: object = {}) =>
  parseCrewDefinition({
    ...definition,
    agents: [{ ...agent, tools: ['now'] }],
    tasks: [{ ...task, agent: 'researcher' }],
    tools: { now: { type: 'time' } },
    ...change,
  })

beforeEach(async () => {
  await sql`delete from case_sets`
  await sql`delete from budgets`
  await deploy()
  await platform.startWorker()
})

async function publishCrew(change: object = {}): Promise<number> {
  await publish(crew(change))
  const [{ number }] = await sql<[{ number: number }]>`
    select number from project_versions v join deployments d on d.project_version_id = v.id
    where d.id = ${automation.id}`
  return number
}

const about = (topic: string, expected: string | null = null): CaseFields => ({
  name: null,
  inputs: { topic },
  expected,
})

interface Asked extends Partial<EvaluationFields> {
  readonly version: number
  readonly cases?: readonly CaseFields[]
  readonly checks?: readonly Check[]
}

/** Performs a set, and returns what was found. */
async function evaluate({ cases = [about('tides')], checks = [], ...fields }: Asked) {
  const set = await createCaseSet(sql, automation, { name: 'Support', checks })
  await addCases(sql, set, cases)
  const [{ projectVersionId }] = await sql<[{ projectVersionId: number }]>`
    select project_version_id from deployments where id = ${automation.id}`
  const all = { set: 'Support', against: null, repeat: 1, newest: null, createdBy: 'test' }
  const { id } = await createEvaluation(
    sql,
    { ...automation, projectVersionId },
    { ...all, ...fields },
  )
  const find = () => findEvaluation(sql, { id, deploymentId: automation.id })
  await expect.poll(async () => (await find())?.finishedAt, { timeout: 20_000 }).toBeTruthy()
  const results = await listResults(sql, id, { after: -1, limit: 100, state: null })
  return { found: await find(), results }
}

/** Answers by the version: one says what the other one does not. */
const byTemperature: Answer = (response, request) =>
  says(request.body['temperature'] === 0.9 ? 'Wrong.' : 'Tides rise.')(response, request)

describe('an evaluation', () => {
  it('asks the models, checks the outputs, and leaves no run behind', async () => {
    const version = await publishCrew()
    model.play((response, request) => {
      const { messages } = request.body
      if (messages.at(-1)?.role === 'tool') return says('Tides rise.')(response, request)
      const isOfTides = JSON.stringify(messages).includes('tides')
      return (isOfTides ? asks(['now', {}]) : says('No idea.'))(response, request)
    })
    const checks: Check[] = [{ type: 'contains' }, { type: 'tool_called', tool: 'now' }]
    const cases = [about('tides', 'rise'), about('moon', 'round')]
    const { found, results } = await evaluate({ version, cases, checks })
    expect(found?.scores).toMatchObject({
      version: { cases: 2, passed: 1, flaky: 0, errors: 0, usd: null },
      against: null,
      difference: null,
    })
    expect(found?.scores?.version.share.value).toBe(0.5)
    const passed = results.find(({ state }) => state === 'passed')
    expect(passed).toMatchObject({ output: 'Tides rise.', tools: ['now'], tokens: 30 })
    expect(results.find(({ state }) => state === 'failed')?.reason).toMatch(/^contains: /)
    const [{ left }] = await sql<[{ left: number }]>`
      select (select count(*) from executions)::int + (select count(*) from webhook_messages)::int
        as left`
    expect(left).toBe(0)
  })

  it('compares two versions on the same cases, and says which changed side', async () => {
    const before = await publishCrew()
    const version = await publishCrew({ llm: { model: 'test-model', temperature: 0.9 } })
    model.play(byTemperature)
    const cases = [about('tides', 'rise'), about('moon', 'Wrong')]
    const { found } = await evaluate({
      version,
      against: before,
      repeat: 2,
      cases,
      checks: [{ type: 'contains' }],
    })
    expect(found).toMatchObject({ runs: 8, waiting: 0, cases: 2, version, against: before })
    expect(found?.scores).toMatchObject({
      version: { passed: 1 },
      against: { passed: 1 },
      difference: { better: 1, worse: 1, of: 2 },
    })
  })

  it('lets a model judge, and takes no nonsense for a pass', async () => {
    const version = await publishCrew()
    const judge: Check = { type: 'judge', model: 'judges', rubric: 'Be kind. {topic}', times: 3 }
    const verdicts = [true, false, true]
    let asked = 0
    model.play((response, request) => {
      if (request.body.model !== 'judges') return says('{rubric} Pass!')(response, request)
      const passed = verdicts[asked++ % 3]
      return says(JSON.stringify({ passed, reason: 'Kind.' }))(response, request)
    })
    const { results } = await evaluate({ version, checks: [judge] })
    expect(results).toMatchObject([
      {
        state: 'passed',
        tokens: 15,
        findings: [{ reason: 'Kind. (2 of 3 answers pass it)', prompt: 1, tokens: 45 }],
      },
    ])
    const prompts = model.requests.map(({ body }) => JSON.stringify(body.messages))
    expect(prompts.at(-1)).toContain('Be kind. {topic}')
    expect(prompts.at(-1)).toContain('{rubric} Pass!')
    await sql`delete from case_sets`
    model.play(says('All good, it passes.'))
    const nonsense = await evaluate({ version, checks: [judge] })
    expect(nonsense.results).toMatchObject([{ state: 'error' }])
    expect(nonsense.found?.scores?.version).toMatchObject({ passed: 0, errors: 1 })
  })

  it.each<readonly [string, object, readonly Answer[], CaseFields, object]>([
    ['a model refuses', {}, [refuses(400, 'no')], about('x'), { state: 'error' }],
    [
      'a person is asked',
      { tasks: [{ ...task, agent: 'researcher', human_input: true }] },
      [says('Facts.')],
      about('x'),
      { state: 'error', reason: expect.stringContaining('waits for a person') },
    ],
    [
      'the inputs are not those of the version',
      {},
      [says('Facts.')],
      { ...about('x'), inputs: { odd: 1 } },
      { state: 'failed', reason: expect.stringContaining('refuses the inputs') },
    ],
  ])('says so where %s', async (_, ...[change, answers, given, wanted]) => {
    const version = await publishCrew(change)
    model.play(...answers)
    const { results } = await evaluate({ version, cases: [given] })
    expect(results).toMatchObject([wanted])
  })

  it('is paid from the budgets of days, and begins nothing once one is used up', async () => {
    const version = await publishCrew()
    const { organizationId } = automation
    await sql`
      insert into budgets (organization_id, period, tokens_max)
      values (${organizationId}, 'day', 15)`
    model.play(says('Facts.'))
    const { results } = await evaluate({ version })
    expect(results).toMatchObject([{ state: 'passed' }])
    const [ledger] = await sql`select spent_tokens::int as spent from budget_ledgers`
    expect(ledger).toEqual({ spent: 15 })
    await sql`delete from case_sets`
    const asked = model.requests.length
    const full = await evaluate({ version })
    expect(full.results).toMatchObject([
      { state: 'error', reason: expect.stringMatching(/budget/) },
    ])
    expect(model.requests.length).toBe(asked)
  })

  it('performs what a draft was when it began', async () => {
    await publishCrew()
    const [{ projectId }] = await sql<[{ projectId: number }]>`
      select project_id from project_versions where id = ${automation.projectVersionId}`
    const key = { organizationId: automation.organizationId, projectId }
    const { number: version } = await createVersion(sql, key, crew({ name: 'A draft' }))
    model.play(says('Facts.'))
    const { found } = await evaluate({ version })
    expect(found?.version).toBe(version)
    const [row] = await sql`
      select v.copy_of, v.number from evaluations e join project_versions v on v.id = e.version_id`
    expect(row).toEqual({ copyOf: version, number: null })
  })
})

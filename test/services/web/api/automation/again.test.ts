import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { completeRun, failRun, takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../../../services/platform/runs/run-queue.ts'
import { recordProgress } from '../../../../../services/platform/runs/record-progress.ts'
import { loadJournal } from '../../../../../services/platform/runs/run-steps.ts'
import type { StepRecord } from '../../../../../services/platform/runs/journal-entries.ts'
import { publishVersion } from '../../../../../services/platform/projects/project-versions.ts'
import { stepBase, stepKey } from '../../../../../services/platform/crew-contract/step-key.ts'
import { definition } from '../../../../support/crew.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

let platform: Platform
let token: string

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme, platform.acme.research.id)
})

beforeEach(async () => {
  await platform.sql`delete from executions`
})

afterAll(() => platform.close())

async function call(path: string, body?: unknown, headers: Record<string, string> = {}) {
  const { automationId } = platform.acme.research
  const response = await platform.app.request(
    `${BASE_URL}/platform/api/v1/crew/${automationId}/${path}`,
    {
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    },
  )
  return { status: response.status, body: await readObject(response) }
}

const INPUTS = { topic: 'whales' }
const at = (seconds: number): string => new Date(Date.UTC(2026, 10, 1, 0, 0, seconds)).toISOString()

const keyOf = ({ projectVersionId }: LeasedRun, inputs: object, ...path: string[]): string =>
  stepKey(stepBase(projectVersionId, { ...inputs }), path)

/** A run that did its first task and failed in the second, at the model of it. */
async function failedRun(): Promise<LeasedRun> {
  await call('kickoff', { inputs: INPUTS })
  const [run] = await takeRuns(platform.sql, 1)
  if (!run) throw new Error('nothing to take')
  const step = (path: string[], change: Partial<StepRecord>): StepRecord => ({
    key: keyOf(run, INPUTS, ...path),
    kind: path.length === 1 ? 'task' : 'llm',
    name: path[0] ?? '',
    path,
    state: 'finished',
    startedAt: at(0),
    ...(path.length > 1 && { parent: keyOf(run, INPUTS, path[0] ?? '') }),
    ...change,
  })
  const long = { output: 'x'.repeat(70_000) }
  const steps = [
    step(['research'], { endedAt: at(2), result: long }),
    step(['research', 'llm'], { endedAt: at(2), result: 'facts' }),
    step(['write'], { startedAt: at(3), endedAt: at(9), state: 'failed' }),
    step(['write', 'search'], { startedAt: at(4), endedAt: at(5), result: 'found' }),
    step(['write', 'llm'], { startedAt: at(6), endedAt: at(9), state: 'failed' }),
  ]
  await recordProgress(platform.sql, run, { events: [], steps })
  await failRun(platform.sql, run, { code: 'llm_rejected', message: 'no' })
  return run
}

/** The steps that the next worker gets of the run that was started last. */
async function nextJournal() {
  const [run] = await takeRuns(platform.sql, 1)
  if (!run) throw new Error('nothing to take')
  const { steps } = await loadJournal(platform.sql, run.id)
  return { run, keys: steps.map(({ step }) => step) }
}

describe('POST runs/…/retry', () => {
  it('starts a run of the same version that keeps what has finished', async () => {
    const failed = await failedRun()
    const { sql, acme } = platform
    const [project] = await sql<[{ id: number }]>`
      select project_id as id from project_versions where id = ${failed.projectVersionId}`
    const newest = await publishVersion(sql, project.id, definition)
    await sql`update deployments set project_version_id = ${newest.id}
      where id = ${acme.research.id}`
    const { status, body } = await call(`runs/${failed.id}/retry`, {})
    expect([status, body['status']]).toEqual([202, 'queued'])
    const { run, keys } = await nextJournal()
    expect(run).toMatchObject({ id: body['kickoff_id'], inputs: INPUTS, attempt: 1 })
    expect(run.projectVersionId).toBe(failed.projectVersionId)
    expect(keys).toEqual([keyOf(run, INPUTS, 'research'), keyOf(run, INPUTS, 'write', 'search')])
    const [first] = (await loadJournal(sql, run.id)).steps
    expect(first?.result).toEqual({ output: 'x'.repeat(70_000) })
    const told = await call(`status/${run.id}`)
    expect(told.body['origin']).toEqual({ kickoff_id: failed.id, action: 'retry' })
    await sql`update deployments set project_version_id = ${failed.projectVersionId}
      where id = ${acme.research.id}`
  })

  it('keeps what does not depend on the step, which is named by its key or its task', async () => {
    const failed = await failedRun()
    for (const from of ['write', keyOf(failed, INPUTS, 'write')]) {
      expect((await call(`runs/${failed.id}/retry`, { from_step: from })).status).toBe(202)
      const { run, keys } = await nextJournal()
      expect(keys).toEqual([keyOf(run, INPUTS, 'research')])
    }
    await call(`runs/${failed.id}/retry`, { from_step: 'research' })
    expect((await nextJournal()).keys).toEqual([])
    const inner = keyOf(failed, INPUTS, 'write', 'llm')
    await call(`runs/${failed.id}/retry`, { from_step: inner })
    expect((await nextJournal()).keys).toHaveLength(2)
  })

  it('is refused while the run goes on, when it is completed, and for unknown steps', async () => {
    const failed = await failedRun()
    const unknown = await call(`runs/${failed.id}/retry`, { from_step: 'wite' })
    expect(unknown).toMatchObject({
      status: 422,
      body: { details: { tasks: ['research', 'write'] } },
    })
    for (const body of [[], { step: 'write' }, { from_step: 7 }, { from_step: '' }]) {
      expect((await call(`runs/${failed.id}/retry`, body)).status).toBe(422)
    }
    await call('kickoff', { inputs: INPUTS })
    const [live] = await takeRuns(platform.sql, 1)
    if (!live) throw new Error('nothing to take')
    expect((await call(`runs/${live.id}/retry`, {})).status).toBe(409)
    const usage = { inputTokens: 1, outputTokens: 1 }
    await completeRun(platform.sql, live, { output: 'done', usage })
    const completed = await call(`runs/${live.id}/retry`, {})
    expect(completed.status).toBe(409)
    expect(completed.body['message']).toContain('from_step')
    expect((await call(`runs/${failed.id.replace(/^./, '1')}/retry`, {})).status).toBe(404)
  })

  it('is one run for one Idempotency-Key, and refused for another request', async () => {
    const failed = await failedRun()
    const once = { 'idempotency-key': 'once' }
    const [first, second] = [
      await call(`runs/${failed.id}/retry`, {}, once),
      await call(`runs/${failed.id}/retry`, {}, once),
    ]
    expect(second.body['kickoff_id']).toBe(first.body['kickoff_id'])
    expect((await call(`runs/${failed.id}/retry`, { from_step: 'write' }, once)).status).toBe(422)
    expect((await call('kickoff', { inputs: INPUTS }, once)).status).toBe(422)
  })
})

describe('POST runs/…/fork', () => {
  it('does every step with the other inputs, unless a step is named', async () => {
    const failed = await failedRun()
    const inputs = { topic: 'otters' }
    expect((await call(`runs/${failed.id}/fork`, { inputs })).status).toBe(202)
    expect(await nextJournal()).toMatchObject({ run: { inputs }, keys: [] })
    expect((await call(`runs/${failed.id}/fork`, { inputs, from_step: 'write' })).status).toBe(202)
    const { run, keys } = await nextJournal()
    expect(run).toMatchObject({ inputs, projectVersionId: failed.projectVersionId })
    // Under the key that the crew looks for with these inputs.
    expect(keys).toEqual([keyOf(run, inputs, 'research')])
  })

  it('is refused with inputs that the version does not take, and without any', async () => {
    const failed = await failedRun()
    const wrong = await call(`runs/${failed.id}/fork`, { inputs: { theme: 'x' } })
    expect(wrong).toMatchObject({ status: 422, body: { details: { missing_inputs: ['topic'] } } })
    expect((await call(`runs/${failed.id}/fork`, {})).status).toBe(422)
  })

  it('keeps no steps whose keys a crew made in its own way', async () => {
    const failed = await failedRun()
    await platform.sql`update run_steps set path = '["elsewhere"]' where run_id = ${failed.id}`
    const body = { inputs: INPUTS, from_step: 'write' }
    const { status, body: problem } = await call(`runs/${failed.id}/fork`, body)
    expect([status, problem['message']]).toEqual([422, expect.stringContaining('way of its own')])
  })
})

const NO_INPUTS = '"inputs" is an object with the inputs by name.'
const NO_STEP = '"from_step" is the key of a step or of a task.'

describe('a body that is not one', () => {
  it.each<[string, unknown, string | [words: string, ...strayKeys: string[]]]>([
    ['kickoff', [], 'The body is a JSON object: {"inputs": {…}}.'],
    ['kickoff', { inputs: INPUTS, a: 1, b: 1 }, ['"inputs". Remove "a", "b".', 'a', 'b']],
    ['kickoff', {}, NO_INPUTS],
    ['kickoff', { inputs: [] }, NO_INPUTS],
    ['fork', null, 'The body is a JSON object.'],
    ['fork', { inputs: INPUTS, toString: 1 }, ['Known: "inputs" and "from_step".', 'toString']],
    ['fork', { from_step: 'write' }, NO_INPUTS],
    ['fork', { inputs: 'x' }, NO_INPUTS],
    ['fork', { inputs: INPUTS, from_step: 'x'.repeat(65) }, NO_STEP],
    ['retry', [], 'The body is a JSON object.'],
    ['retry', { inputs: INPUTS }, ['has no key "inputs". Known: "from_step".', 'inputs']],
    ['retry', { from_step: '' }, NO_STEP],
    ['retry', { from_step: null }, NO_STEP],
    ['rerun', { from_step: 'write' }, ['has no key "from_step". Known: none.', 'from_step']],
  ])('is refused as one of %s: %j', async (action, body, refusal) => {
    const [words = '', ...strayKeys] = [refusal].flat()
    const { id } = await failedRun()
    const answer = await call(action === 'kickoff' ? action : `runs/${id}/${action}`, body)
    expect(answer).toMatchObject({ status: 422, body: { message: expect.stringContaining(words) } })
    expect(answer.body['details']).toEqual(
      strayKeys.length > 0 ? { stray_keys: strayKeys } : undefined,
    )
  })
})

describe('the other calls about a run', () => {
  it('runs it again from the start, with the version of now', async () => {
    const failed = await failedRun()
    const { body } = await call(`runs/${failed.id}/rerun`, {})
    expect(await nextJournal()).toMatchObject({
      run: { id: body['kickoff_id'], inputs: INPUTS },
      keys: [],
    })
  })

  it('lists its steps, without their results', async () => {
    const failed = await failedRun()
    const { body } = await call(`runs/${failed.id}/steps`)
    const steps = body['steps'] as Record<string, unknown>[]
    expect(steps).toHaveLength(5)
    expect(steps[1]).toEqual({
      step: keyOf(failed, INPUTS, 'research', 'llm'),
      kind: 'llm',
      name: 'research',
      path: ['research', 'llm'],
      parent: keyOf(failed, INPUTS, 'research'),
      state: 'finished',
      attempt: 1,
      usage: null,
      error: null,
      started_at: at(0),
      ended_at: at(2),
    })
  })
})

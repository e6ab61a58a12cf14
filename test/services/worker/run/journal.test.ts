import { describe, expect, it } from 'vitest'
import { recordProgress } from '../../../../services/platform/runs/record-progress.ts'
import { loadJournal } from '../../../../services/platform/runs/run-steps.ts'
import type { StepRecord } from '../../../../services/platform/runs/journal-entries.ts'
import { isSilent, refuses, says } from '../../crew/fake-model.ts'
import { begin, line, startBrokenCrew } from '../broken-crew.ts'
import { openWorker } from '../harness.ts'

const { deploy, model, platform } = await openWorker()

const secondCall = () => expect.poll(() => model.requests.length).toBe(2)

/** Lets a worker stop in the second call of a run, of which one task has finished. */
async function interrupt(beforeStop = async (): Promise<void> => {}): Promise<string> {
  await deploy()
  model.play(says('Facts.'), isSilent)
  const worker = await platform.startWorker()
  const id = await platform.kickoff()
  await secondCall()
  await beforeStop()
  await worker.stop()
  return id
}

const stepsOf = (id: string) => platform.sql`
  select kind, name, path, state, attempt, usage, error from run_steps
  where run_id = ${id} order by position`

/** Gives a run a version as a crew of another time took it: a task has other members. */
const writeVersionOfAnotherTime = (id: string) => platform.sql`
  with version as (
    insert into project_versions (project_id, organization_id, number, definition, published_at)
    select project_id, organization_id, number + 100,
      jsonb_set(definition, '{tasks,0}', '{"name": "research"}'), now()
    from project_versions where id = (select project_version_id from executions where id = ${id})
    returning id)
  update executions set project_version_id = version.id from version
  where executions.id = ${id}`

describe('the journal of a run', () => {
  it('has a row for each task and each model call, with its place and what it took', async () => {
    await deploy()
    model.play(says('Facts.'), says('A summary.'))
    await platform.startWorker()
    const id = await platform.kickoff()
    await platform.until(id, 'completed')
    const usage = { input_tokens: 10, output_tokens: 5 }
    const common = { state: 'finished', attempt: 1, usage, error: null }
    expect(await stepsOf(id)).toEqual([
      { kind: 'task', name: 'research', path: ['research'], ...common },
      { kind: 'llm', name: 'test-model', path: ['research', 'researcher', 'llm', '0'], ...common },
      { kind: 'task', name: 'write', path: ['write'], ...common },
      { kind: 'llm', name: 'test-model', path: ['write', 'writer', 'llm', '0'], ...common },
    ])
  })

  it('lets the next worker go on after the last finished step', async () => {
    const id = await interrupt()
    expect(await platform.get(id)).toMatchObject({ status: 'queued' })
    model.play(says('A summary.'))
    await platform.startWorker()
    const run = await platform.until(id, 'completed')
    expect(run).toMatchObject({
      output: 'A summary.',
      attempt: 2,
      usage: { inputTokens: 20, outputTokens: 10 },
    })
    expect(model.requests).toHaveLength(3)
    expect(model.requests[2]?.body).toEqual(model.requests[1]?.body)
  })

  it('does a step again that failed, when the run goes on', async () => {
    await deploy()
    model.play(says('Facts.'), refuses(401, 'no such key'))
    await platform.startWorker()
    const id = await platform.kickoff()
    await platform.until(id, 'error')
    expect((await stepsOf(id)).map(({ state }) => state)).toEqual([
      'finished',
      'finished',
      'failed',
      'failed',
    ])
    const { steps } = await loadJournal(platform.sql, id)
    expect(steps).toMatchObject([{ kind: 'task', result: { output: 'Facts.' } }])
  })

  it('ends a run whose new crew cannot go on, and says what to do', async () => {
    const plain = await startBrokenCrew((response) => {
      begin(response)
      response.end(line({ type: 'crew_completed', output: 'anew', usage: {} }))
    })
    const id = await interrupt(() => platform.deployAt(plain.url))
    await platform.startWorker()
    const { error } = await platform.until(id, 'error')
    expect(error?.code).toBe('crew_without_journal')
    expect(error?.message).toMatch(/after the 1 steps .*capability "journal".*retry this run/)
    expect(plain.kickoffs()).toBe(0)
    await plain.stop()
  })

  it('ends a run of a version that no crew takes any more, and says what to do', async () => {
    const id = await interrupt()
    await writeVersionOfAnotherTime(id)
    await platform.startWorker()
    const { error } = await platform.until(id, 'error')
    expect(error?.code).toBe('crew_rejected')
    expect(error?.message).toMatch(
      /HTTP 422: The kickoff is not valid: definition\.tasks.* replaced by .* version of now\.$/,
    )
    expect(model.requests).toHaveLength(2)
    const kept = (await loadJournal(platform.sql, id)).steps
    expect(kept).toMatchObject([{ kind: 'task', result: { output: 'Facts.' } }])
  })
})

describe('what a worker writes into the journal', () => {
  const step = (change: Partial<StepRecord> = {}): StepRecord => ({
    key: 'a',
    kind: 'tool',
    name: 'search',
    path: ['a'],
    state: 'started',
    startedAt: new Date().toISOString(),
    ...change,
  })
  const finished = (result: unknown, change: Partial<StepRecord> = {}) =>
    step({ state: 'finished', endedAt: new Date().toISOString(), result, ...change })

  async function taken() {
    await platform.kickoff()
    return platform.takeOne()
  }

  it.each<[string, unknown]>([
    ['nothing', null],
    ['what PostgreSQL cannot store as text', { text: 'a\u0000b\ud800c' }],
    ['a member that is there with an odd name', JSON.parse('{"__proto__":{"x":1},"":[]}')],
    ['more than fits into a row', { text: 'x'.repeat(70_000) }],
  ])('comes back as it was: %s', async (_, result) => {
    const run = await taken()
    await recordProgress(platform.sql, run, { events: [], steps: [step()] })
    expect((await loadJournal(platform.sql, run.id)).steps).toEqual([])
    await recordProgress(platform.sql, run, { events: [], steps: [finished(result)] })
    const { steps, advancedIn } = await loadJournal(platform.sql, run.id)
    expect([steps, advancedIn]).toEqual([[{ step: 'a', kind: 'tool', result }], 1])
  })

  it('is the same when it is written twice, and a finished step stays as it is', async () => {
    const run = await taken()
    const entries = {
      events: [{ position: 0, event: { type: 'crew_started' } }],
      steps: [finished(1), finished(2, { key: 'b' })],
    }
    for (let time = 0; time < 2; time += 1) await recordProgress(platform.sql, run, entries)
    await recordProgress(platform.sql, run, { events: [], steps: [step()] })
    const { steps } = await loadJournal(platform.sql, run.id)
    expect(steps.map(({ result }) => result)).toEqual([1, 2])
    expect(await platform.events(run.id)).toHaveLength(1)
  })

  it('leaves out the parts of a step that has finished', async () => {
    const run = await taken()
    const inner = finished(1, { key: 'b', parent: 'a', path: ['a', 'b'] })
    await recordProgress(platform.sql, run, { events: [], steps: [step(), inner] })
    const before = await loadJournal(platform.sql, run.id)
    expect(before.steps.map(({ step: key }) => key)).toEqual(['b'])
    await recordProgress(platform.sql, run, { events: [], steps: [finished(2)] })
    const after = await loadJournal(platform.sql, run.id)
    expect(after.steps.map(({ step: key }) => key)).toEqual(['a'])
  })

  it('is refused from a worker that has lost the run', async () => {
    const run = await taken()
    await platform.sql`update executions set lease_expires_at = now() - interval '1 second'`
    await platform.takeOne()
    const entries = { events: [], steps: [finished(1)] }
    expect(await recordProgress(platform.sql, run, entries)).toBe(false)
    expect((await loadJournal(platform.sql, run.id)).steps).toEqual([])
  })

  it('forgets the lost attempts of a run that gets on', async () => {
    await taken()
    await platform.sql`update executions set lease_expires_at = now() - interval '1 second'`
    const run = await platform.takeOne()
    expect(run.lostAttempts).toBe(1)
    const lost = async () => (await platform.sql`select lost_attempts from executions`)[0]
    await recordProgress(platform.sql, run, { events: [], steps: [step()] })
    expect(await lost()).toEqual({ lostAttempts: 1 })
    await recordProgress(platform.sql, run, { events: [], steps: [finished(1)] })
    expect(await lost()).toEqual({ lostAttempts: 0 })
  })

  it('goes with its run when its retention is over', async () => {
    const run = await taken()
    const huge = finished('x'.repeat(70_000))
    await recordProgress(platform.sql, run, { events: [], steps: [huge] })
    await platform.sql`delete from executions where id = ${run.id}`
    const [left] = await platform.sql`
      select (select count(*) from run_steps) + (select count(*) from run_payloads) as count`
    expect(Number(left?.['count'])).toBe(0)
  })
})

describe('a journal that no crew takes', () => {
  it('ends the run, and says what to do', async () => {
    await deploy()
    const run = await platform.kickoff()
    const taken = await platform.takeOne()
    const at = new Date().toISOString()
    const step = { kind: 'tool', name: 'search', state: 'finished', startedAt: at } as const
    // Their escapes count, which makes them as long as they may be together.
    const result = '\u0001'.repeat(2_900_000)
    for (const key of ['a', 'b', 'c', 'd']) {
      const steps = [{ ...step, key, path: [key], endedAt: at, result }]
      await recordProgress(platform.sql, taken, { events: [], steps })
    }
    await platform.sql`update executions set lease_expires_at = now() - interval '1 second'`
    await platform.startWorker()
    const { error } = await platform.until(run, 'error')
    expect(error?.code).toBe('journal_too_long')
    expect(error?.message).toMatch(/have 69\d{6} characters; .* at most 67108864/)
  })
})

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseCrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import type { Decision } from '../../../services/platform/approvals/approval-decisions.ts'
import {
  decideApproval,
  expireApprovals,
  findApproval,
} from '../../../services/platform/runs/run-approvals.ts'
import { readEvents } from '../../../services/platform/runs/run-events.ts'
import { listRunTasks } from '../../../services/platform/runs/run-tasks.ts'
import { stopRun } from '../../../services/platform/runs/runs.ts'
import { definition } from '../../support/crew.ts'
import { asks, says } from '../crew/fake-model.ts'
import { openWorker } from './harness.ts'

const { deploy, model, platform, publish } = await openWorker()

const publishTasks = (tasks: CrewDefinition['tasks']) => publish({ ...definition, tasks })

beforeAll(() =>
  publishTasks(definition.tasks.map((task, index) => ({ ...task, human_input: index === 0 }))),
)

beforeEach(async () => {
  await deploy()
})

/** A run that waits for a decision about its first task. */
async function ask(): Promise<string> {
  model.play(says('Facts.'), says('A summary.'))
  await platform.startWorker()
  const id = await platform.kickoff()
  await platform.until(id, 'waiting')
  return id
}

const decide = (runId: string, decision: Decision, text?: string) =>
  decideApproval(platform.sql, {
    deploymentId: platform.automation.id,
    runId,
    task: 'research',
    decision,
    text,
  })

const promptOf = (index: number): string => JSON.stringify(model.requests[index]?.body.messages)

describe('a task with human_input', () => {
  it('lets its run wait without a worker, and goes on where it was when approved', async () => {
    const id = await ask()
    expect(await findApproval(platform.sql, id)).toMatchObject({
      task: 'research',
      proposed: 'Facts.',
    })
    const [run] = await platform.sql`select lease_id, finished_at from executions where id = ${id}`
    expect(run).toEqual({ leaseId: null, finishedAt: null })
    await platform.stopServices()
    const crew = await platform.startCrew({ OPENAI_BASE_URL: model.baseUrl })
    await platform.deployAt(crew.url)
    await decide(id, 'approve')
    await platform.startWorker()
    expect(await platform.until(id, 'completed')).toMatchObject({ output: 'A summary.' })
    expect(model.requests).toHaveLength(2)
    expect(promptOf(1)).toContain('Facts.')
    const { events } = await readEvents(platform.sql, id, { after: 0, limit: 100 })
    expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => index + 1))
    const told = events.map(({ event }) => event.type).filter((type) => !/llm|step/.test(type))
    expect(told).toEqual([
      'crew_started',
      'task_started',
      'approval_requested',
      'approval_decided',
      'crew_started',
      'task_completed',
      'task_started',
      'task_completed',
      'crew_completed',
      'run_completed',
    ])
    await expect(decide(id, 'approve')).rejects.toMatchObject({ code: 'conflict' })
  })

  it('puts out what a person wrote instead', async () => {
    const id = await ask()
    await decide(id, 'edit', 'Better facts.')
    await platform.until(id, 'completed')
    expect(promptOf(1)).toContain('Better facts.')
    expect(promptOf(1)).not.toContain('"Facts."')
  })

  it('ends its run when rejected, with the reason', async () => {
    const id = await ask()
    await decide(id, 'reject', 'Not true.')
    expect(await platform.until(id, 'error')).toMatchObject({
      error: {
        code: 'approval_rejected',
        message: 'The output of the task research was rejected. Reason: Not true.',
      },
    })
    expect(model.requests).toHaveLength(1)
  })

  it('counts as rejected when nobody decides in time, and asks no more once stopped', async () => {
    const id = await ask()
    expect(await expireApprovals(platform.sql)).toBe(0)
    const stopped = await platform.kickoff()
    await platform.until(stopped, 'waiting')
    expect(await stopRun(platform.sql, stopped)).toBe(true)
    await expect(decide(stopped, 'approve')).rejects.toMatchObject({ code: 'conflict' })
    await platform.sql`update run_approvals set decide_by = now() - interval '1 second'`
    expect(await expireApprovals(platform.sql)).toBe(1)
    expect((await platform.until(id, 'error')).error?.message).toContain('There was no decision')
  })
})

describe('a task that says when a person has to decide, and what counts then', () => {
  it('goes on with its output when nobody decides in time', async () => {
    const terms = { human_input: true, decide_within_minutes: 120, undecided: 'approve' } as const
    await publishTasks(
      definition.tasks.map((task, at) => (at === 0 ? { ...task, ...terms } : task)),
    )
    const id = await ask()
    const asked = await findApproval(platform.sql, id)
    expect(asked).toMatchObject({ task: 'research', undecided: 'approve' })
    expect(Number(asked?.decideBy) - Number(asked?.askedAt)).toBe(120 * 60_000)
    await platform.sql`
      update run_approvals set asked_at = asked_at - interval '121 minutes',
        decide_by = decide_by - interval '121 minutes'`
    // Unless the worker was first.
    await expireApprovals(platform.sql)
    await platform.until(id, 'completed')
    const [{ answer }] = await platform.sql<[{ answer: string }]>`select answer from run_approvals`
    expect(answer).toBe('There was no decision within 2 hours.')
  })

  it('needs a person who is asked', () => {
    const [first, ...others] = definition.tasks
    const tasks = [{ ...first, undecided: 'approve' }, ...others]
    expect(() => parseCrewDefinition({ ...definition, tasks })).toThrow(
      'the task research says when a person has to decide, and lacks human_input',
    )
  })
})

describe('tasks that ask beside each other', () => {
  it('do so one after the other, and call no model again', async () => {
    await publishTasks(
      definition.tasks.map((task) => ({ ...task, async: true, human_input: true })),
    )
    const id = await ask()
    expect(await findApproval(platform.sql, id)).toMatchObject({ task: 'research' })
    await decide(id, 'approve')
    const asked = () => findApproval(platform.sql, id)
    await expect.poll(asked).toMatchObject({ task: 'write' })
    const run = await platform.get(id)
    expect(run && (await listRunTasks(platform.sql, run))).toMatchObject([
      { task: 'research', status: 'completed', output: expect.any(String) },
      { task: 'write', status: 'running' },
    ])
    const edit = { deploymentId: platform.automation.id, runId: id, task: 'write', text: 'Mine.' }
    await decideApproval(platform.sql, { ...edit, decision: 'edit' })
    expect(await platform.until(id, 'completed')).toMatchObject({ output: 'Mine.' })
    expect(model.requests).toHaveLength(2)
  })
})

describe('a tool whose calls a person approves', () => {
  const terms = { approve: 'always', decide_within_minutes: 30, undecided: 'approve' } as const

  beforeAll(() =>
    publish({
      ...definition,
      tools: { sum: { type: 'calculator', ...terms } },
      agents: definition.agents.map((agent) => ({ ...agent, tools: ['sum'] })),
      tasks: definition.tasks.slice(0, 1),
    }),
  )

  async function askForCall() {
    model.play(asks(['sum', { expression: '6 * 7' }]), says('Facts.'))
    await platform.startWorker()
    const id = await platform.kickoff()
    await platform.until(id, 'waiting')
    const asked = await findApproval(platform.sql, id)
    return { id, call: asked?.call?.id ?? '', asked }
  }

  const callsOf = async (id: string) =>
    (await platform.events(id)).filter(({ type }) => type === 'tool_call')

  it('is called once, with what the person wrote, by another crew and worker', async () => {
    const { id, call, asked } = await askForCall()
    expect(asked).toMatchObject({
      task: 'research',
      proposed: '{"expression":"6 * 7"}',
      undecided: 'approve',
      call: { name: 'sum', tool: 'sum' },
    })
    expect(Number(asked?.decideBy) - Number(asked?.askedAt)).toBe(30 * 60_000)
    await platform.stopServices()
    await deploy()
    const decision = { deploymentId: platform.automation.id, runId: id, task: 'research', call }
    const edit = { ...decision, decision: 'edit' } as const
    const edits = ['{"expression": "1 + 1"}', '{"expression": "2 + 2"}'].map((text) =>
      decideApproval(platform.sql, { ...edit, text }).then(() => text),
    )
    const [done, ...late] = (await Promise.allSettled(edits)).toSorted((one) =>
      one.status === 'fulfilled' ? -1 : 1,
    )
    expect(late).toMatchObject([{ reason: { code: 'conflict' } }])
    await platform.startWorker()
    expect(await platform.until(id, 'completed')).toMatchObject({ output: 'Facts.' })
    const [sent, ...others] = await callsOf(id)
    expect(others).toEqual([])
    const text = done?.status === 'fulfilled' ? done.value : ''
    expect(sent?.['arguments']).toBe(JSON.stringify(JSON.parse(text)))
    expect(model.requests).toHaveLength(2)
  })

  it('is called as it was proposed when nobody decides in time', async () => {
    const { id } = await askForCall()
    await platform.sql`update run_approvals set decide_by = now() - interval '1 second'`
    await expireApprovals(platform.sql)
    await platform.until(id, 'completed')
    expect(await callsOf(id)).toMatchObject([{ result: '42' }])
  })
})

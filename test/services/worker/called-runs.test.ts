import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  pinAutomation,
  refuseCircles,
} from '../../../services/platform/automations/automation-tools.ts'
import { setBudget } from '../../../services/platform/budgets/budgets.ts'
import type { CrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { listLinkedRuns } from '../../../services/platform/runs/called-runs.ts'
import { stopRun } from '../../../services/platform/runs/runs.ts'
import type { Tools } from '../../../services/platform/tools/tool-definitions.ts'
import { definition } from '../../support/crew.ts'
import { deployAutomation, seedAutomation } from '../../support/platform.ts'
import { asks, isSilent, refuses, says } from '../crew/fake-model.ts'
import { begin, line, startBrokenCrew } from './broken-crew.ts'
import { openWorker, SECRET_KEY_BASE } from './harness.ts'
import { crewToken } from '../../../services/shared/crew-token.ts'
import { markOnline } from '../../../services/platform/automations/automations.ts'

const { deploy, model, platform, publish } = await openWorker()
const { sql, automation } = platform
const { organizationId } = automation

const call = (slug: string): Tools => ({
  [slug.replaceAll('-', '_')]: {
    type: 'automation',
    automation: slug,
    pinned: { description: 'x', input_schema: { type: 'object' } },
  },
})
const crewWith = (tools: Tools): CrewDefinition => ({
  ...definition,
  agents: definition.agents.map((agent) => ({ ...agent, tools: Object.keys(tools) })),
  tasks: definition.tasks.slice(0, 1),
  tools,
})

const runner = await seedAutomation(sql, {
  organization: 'Platform',
  internal: true,
  slug: 'runner',
})

/** An automation of the organization, on the crew of the platform. */
async function add(slug: string, tools: Tools = {}): Promise<number> {
  const { id } = await deployAutomation(sql, organizationId, { slug, crew: crewWith(tools) })
  await sql`update deployments set runs_on = ${runner.id} where id = ${id}`
  return id
}

beforeAll(async () => {
  await sql`update deployments set runs_on = ${runner.id} where id = ${automation.id}`
  await add('weather')
  await add('mirror', call('research'))
  await add('fourth', call('weather'))
  await add('third', call('fourth'))
  await add('second', call('third'))
  await seedAutomation(sql, { organization: 'Globex', slug: 'secret' })
  await publish(
    crewWith({ ...call('weather'), ...call('mirror'), ...call('secret'), ...call('second') }),
  )
})

beforeEach(async () => {
  const crew = await deploy({ CREW_TOKEN: crewToken(SECRET_KEY_BASE, runner.automationId) })
  await markOnline(sql, runner.id, crew.url)
  await platform.startWorker()
})

const lastPrompt = (): string => String(model.requests.at(-1)?.body.messages.at(-1)?.content)

async function runOf(slug: string): Promise<string> {
  const find = () => sql<{ id: string }[]>`
    select e.id from executions e join deployments d on d.id = e.deployment_id
    where d.slug = ${slug} order by queued_at desc limit 1`
  await expect.poll(async () => (await find()).length).toBe(1)
  return (await find())[0]?.id ?? ''
}

describe('an automation as a tool of another one', () => {
  it('answers with the output of its run, while nobody holds the one that waits', async () => {
    const limits = { tokensMax: 100_000, usdMax: null, unpriced: 'free' } as const
    const key = { organizationId, deploymentId: automation.id, period: 'run' } as const
    await setBudget(sql, key, limits)
    model.play(asks(['weather', { topic: 'tides' }]), says('Sunny.'), says('It is sunny.'))
    const id = await platform.kickoff()
    const run = await platform.until(id, 'completed')
    expect(run.output).toBe('It is sunny.')
    expect(lastPrompt()).toBe('Sunny.')
    expect(model.requests).toHaveLength(3)
    const called = await runOf('weather')
    const facts = { automationName: 'weather', status: 'completed' }
    expect(await listLinkedRuns(sql, id)).toMatchObject([{ ...facts, id: called, isCaller: false }])
    expect(await listLinkedRuns(sql, called)).toMatchObject([{ id, isCaller: true }])
    const [starter] = await sql`
      select trigger, starter_id, inputs from executions where id = ${called}`
    expect(starter).toEqual({
      trigger: 'run',
      starterId: `run:${id}`,
      inputs: { topic: 'tides' },
    })
    const ledgers =
      await sql`select run_id, spent_tokens::int, reserved_tokens::int from budget_ledgers`
    expect(ledgers).toEqual([{ runId: id, spentTokens: 45, reservedTokens: 0 }])
    const told = await platform.events(id)
    expect(told).toContainEqual(
      expect.objectContaining({ type: 'step_finished', name: 'weather', called_run: called }),
    )
    await sql`delete from budgets`
  })

  it.each([
    ['secret', { topic: 'x' }, 'There is no automation secret in this organization.'],
    ['mirror', { topic: 'x' }, 'The automation research waits for this run'],
    ['weather', { city: 'x' }, 'These inputs are missing: topic.'],
  ])('tells the model why it was not started: %s', async (slug, given, message) => {
    const within = slug === 'mirror' ? [asks(['research', { topic: 'x' }]), says('No.')] : []
    model.play(asks([slug, given]), ...within, says('Done.'))
    const id = await platform.kickoff()
    await platform.until(id, 'completed')
    const prompts = JSON.stringify(model.requests.map(({ body }) => body.messages))
    expect(prompts).toContain(message)
  })

  it('is started by no more than so many runs that wait for each other', async () => {
    const next = ['second', 'third', 'fourth', 'weather'].map((slug) =>
      asks([slug, { topic: 'x' }]),
    )
    model.play(...next, says('Done.'))
    await platform.until(await platform.kickoff(), 'completed')
    const prompts = JSON.stringify(model.requests.map(({ body }) => body.messages))
    expect(prompts).toContain('At most 4 runs may wait for each other.')
  })

  it('tells the model that its run failed', async () => {
    model.play(asks(['weather', { topic: 'x' }]), refuses(400, 'no'), says('Done.'))
    await platform.until(await platform.kickoff(), 'completed')
    expect(lastPrompt()).toMatch(/^The automation failed: The model at .* refused the call/)
  })

  it('is not started for a crew whose version does not name it', async () => {
    const crew = await startBrokenCrew((response) => {
      begin(response)
      const step = { step: 'k1', kind: 'tool', name: 'third', path: ['k1'] }
      response.write(line({ type: 'step_started', ...step }))
      const inputs = { topic: 'x' }
      response.end(line({ type: 'run_requested', step: 'k1', automation: 'third', inputs }))
    })
    await markOnline(sql, runner.id, crew.url)
    const id = await platform.kickoff()
    await platform.until(id, 'error')
    await crew.stop()
    const rows = await sql`select result ->> 'text' as text from run_steps where run_id = ${id}`
    expect(rows).toEqual([{ text: 'The version of this run has no tool for third.' }])
    expect(await listLinkedRuns(sql, id)).toEqual([])
  })

  it('is stopped with the run that waits for it', async () => {
    model.play(asks(['weather', { topic: 'x' }]), isSilent)
    const id = await platform.kickoff()
    await platform.until(id, 'waiting')
    const called = await runOf('weather')
    await stopRun(sql, id)
    const [{ status }] = await sql<[{ status: string }]>`
      select status from executions where id = ${called}`
    expect(status).toBe('stopped')
  })
})

describe('a version whose tools are automations', () => {
  const pin = (slug: string) =>
    pinAutomation(sql, organizationId, { type: 'automation', automation: slug })

  it('gets the inputs of each when it is published, of its own organization only', async () => {
    expect(await pin('weather')).toMatchObject({
      pinned: {
        description: expect.stringContaining('weather'),
        input_schema: { required: ['topic'] },
      },
    })
    expect(await pin('secret')).toBe('there is no automation secret in this organization')
  })

  it('is refused if it would wait for itself, or too many for each other', async () => {
    const [{ projectId }] = await sql<[{ projectId: number }]>`
      select project_id from project_versions where id = ${automation.projectVersionId}`
    const refuse = (slug: string) => refuseCircles(sql, { organizationId, projectId }, call(slug))
    await refuse('weather')
    await refuse('third')
    await expect(refuse('mirror')).rejects.toThrow(
      'tools.mirror: mirror calls research cannot be called: it is the automation of this project',
    )
    await expect(refuse('second')).rejects.toThrow('at most 4 runs may wait for each other')
  })
})

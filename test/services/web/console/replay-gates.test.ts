import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../../services/platform/automations/token-limits.ts'
import { finishReplay, takeReplays } from '../../../../services/platform/replays/replay-queue.ts'
import type { ReplayResult } from '../../../../services/platform/replays/replay-queue.ts'
import { definition } from '../../../support/crew.ts'
import { signInAs } from '../support/every-route.ts'
import { askAs } from '../support/forms.ts'
import { BASE_URL, openPlatform, readObject } from '../support/platform.ts'
import type { Platform, Tenant } from '../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let editor: ReturnType<typeof askAs>
let path: string
let versions: string
let drafts = 0
const tokens = { design: '', settings: '', rival: '' }
const HOSTILE = '<script>alert(1)</script>'

beforeAll(async () => {
  platform = await openPlatform()
  const { acme, rival, sql } = platform
  ada = askAs(platform.app, await platform.signIn(acme))
  editor = askAs(platform.app, await signInAs(platform, 'edda', 'editor'))
  path = `/automations/${acme.research.automationId}`
  const [{ projectId }] = await sql<[{ projectId: number }]>`
    select project_id from project_versions where id = ${acme.research.projectVersionId}`
  versions = `/projects/${projectId}/versions`
  tokens.design = await tokenFor(acme, 'design')
  tokens.settings = await tokenFor(acme, 'settings')
  tokens.rival = await tokenFor(rival, 'settings')
})

afterAll(() => platform.close())

beforeEach(async () => {
  await platform.sql`delete from replays`
  await platform.sql`delete from executions`
})

const tokenFor = ({ organizationId, userId }: Tenant, scope: TokenScope) =>
  issueStaticToken(platform.sql, {
    organizationId,
    deploymentId: null,
    name: `for ${scope} of ${organizationId}`,
    scopes: [scope],
    createdBy: userId,
  })

interface Sent {
  readonly method?: string
  readonly body?: object
}

async function call(at: string, as: keyof typeof tokens, { method = 'GET', body = {} }: Sent = {}) {
  const response = await platform.app.request(`${BASE_URL}/designer/v2${at}`, {
    method,
    headers: { authorization: `Bearer ${tokens[as]}`, 'content-type': 'application/json' },
    ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await readObject(response) }
}

const gatePath = () => `${path}/replay-gates/${platform.acme.research.automationId}`
const setGate = (rule: object, as: keyof typeof tokens = 'settings') =>
  call(gatePath(), as, { method: 'PUT', body: rule })

const publish = (number: number) =>
  call(`${versions}/${number}/publish`, 'design', { method: 'POST' })

async function draft(): Promise<number> {
  drafts += 1
  const body = { definition: { ...definition, name: `Draft ${drafts}` } }
  return Number((await call(versions, 'design', { method: 'POST', body })).body['number'])
}

async function insertRuns(count: number): Promise<void> {
  await platform.sql`
    insert into executions (deployment_id, inputs, status, output, finished_at)
    select ${platform.acme.research.id}, '{}', 'completed', '', now()
    from generate_series(1, ${count})`
}

/** Performs what is queued as a worker does; returns the names of the versions that do. */
async function work(...results: readonly ReplayResult[]): Promise<string[]> {
  const taken = await takeReplays(platform.sql, 10)
  for (const [index, run] of taken.entries()) {
    await finishReplay(platform.sql, run, results[index] ?? { state: 'equal' })
  }
  return taken.map((run) => run.definition.name)
}

const tool = (reason: string): ReplayResult => ({
  state: 'different',
  reason,
  step: { kind: 'tool', name: 'docs', path: ['research', 'docs'] },
})
const model: ReplayResult = {
  state: 'different',
  reason: 'm is asked something else at research.',
  step: { kind: 'llm', name: 'm', path: ['research'] },
}

describe('a gate over replays', () => {
  it('starts the replay once, waits, and names the runs that call tools otherwise', async () => {
    await insertRuns(3)
    await setGate({ last: 2 })
    const number = await draft()
    const both = await Promise.all([publish(number), publish(number)])
    expect(both.map(({ status }) => status)).toEqual([202, 202])
    const [replay, ...more] = await platform.sql<{ id: string; runs: number }[]>`
      select id, runs from replays`
    expect([replay?.runs, more]).toEqual([2, []])
    expect(both[0].body['gates']).toMatchObject([
      { state: 'pending', set: null, replay: `/designer/v2${path}/replays/${replay?.id}` },
    ])
    expect(await work(tool(`docs is asked ${HOSTILE}`), model)).toEqual(
      Array(2).fill(`Draft ${drafts}`),
    )
    const refused = await publish(number)
    expect([refused.status, refused.body['message']]).toEqual([
      409,
      'The replay of the newest runs refuses it: 1 differ in a call of a tool. 0 equal, ' +
        '2 different, 0 not possible.',
    ])
    expect(refused.body['details']).toMatchObject({
      gates: [{ replay_id: replay?.id, runs: [{ reason: `docs is asked ${HOSTILE}` }] }],
    })
    const next = await draft()
    expect((await publish(next)).status).toBe(202)
    await work({ state: 'equal' }, model)
    expect((await publish(next)).status).toBe(200)
  })

  it('refuses any difference where it says so, and what no run can say something of', async () => {
    await setGate({ last: 5, refuses: 'any' })
    const number = await draft()
    expect((await publish(number)).body['message']).toContain('No run of this automation')
    await insertRuns(1)
    await publish(number)
    await work(model)
    expect((await publish(number)).body['message']).toContain('1 differ. 0 equal')
    const next = await draft()
    await publish(next)
    await work({ state: 'impossible', reason: 'No step of the run is kept.' })
    expect((await publish(next)).body['message']).toContain('None of the runs can be replayed')
    await setGate({ last: 0 })
    expect((await publish(next)).status).toBe(200)
  })

  it('performs the draft as it was, and asks anew for another text, and after a day', async () => {
    await insertRuns(1)
    await setGate({ last: 1 })
    const number = await draft()
    await publish(number)
    const body = { definition: { ...definition, name: 'Changed meanwhile' } }
    await call(`${versions}/${number}`, 'design', { method: 'PUT', body })
    expect(await work()).toEqual([`Draft ${drafts}`])
    expect((await publish(number)).status).toBe(202)
    expect(await work()).toEqual(['Changed meanwhile'])
    await platform.sql`update replays set created_at = now() - interval '25 hours'`
    expect((await publish(number)).status).toBe(202)
    await work()
    expect((await publish(number)).status).toBe(200)
  })

  it('refuses what is not done in time, says so, and starts anew after that', async () => {
    await insertRuns(2)
    await setGate({ last: 2, within_minutes: 5 })
    const number = await draft()
    await publish(number)
    const [taken] = await takeReplays(platform.sql, 1)
    await platform.sql`update replays set created_at = now() - interval '6 minutes'`
    const late = await publish(number)
    expect([late.status, late.body['message']]).toEqual([
      409,
      expect.stringContaining('not done within 5 min'),
    ])
    // A worker that is late keeps nothing of what was given up.
    if (taken) await finishReplay(platform.sql, taken, { state: 'equal' })
    expect((await publish(number)).status).toBe(202)
    expect(await work()).toHaveLength(2)
    expect((await publish(number)).status).toBe(200)
  })

  it('is overridden by an admin with a reason, on the page that refuses it', async () => {
    await insertRuns(1)
    await setGate({ last: 1 })
    const at = `${versions}/${await draft()}`
    expect(await (await editor.post(`${at}/publish`, {})).text()).toContain(
      'It waits for its gates',
    )
    await work(tool(HOSTILE))
    const page = await (await ada.post(`${at}/publish`, {})).text()
    expect(page).toContain('The newest runs')
    expect(page).toContain('&lt;script&gt;')
    expect(page).not.toContain('<script>alert')
    const reason = 'The tool has another name.'
    expect((await editor.post(`${at}/publish/override`, { reason })).status).toBe(403)
    expect((await ada.post(`${at}/publish/override`, { reason })).status).toBe(303)
  })

  it('is set by admins of its organization alone', async () => {
    expect((await setGate({ last: 1 }, 'design')).status).toBe(403)
    expect((await setGate({ last: 1 }, 'rival')).status).toBe(404)
    expect((await editor.post(gatePath(), { last: '1' })).status).toBe(403)
    for (const rule of [{ last: 1001 }, { last: -1 }, { last: 1, refuses: HOSTILE }, {}]) {
      expect((await setGate(rule)).status).toBe(422)
    }
    const rivals = `/automations/${platform.rival.research.automationId}/replay-gates`
    const id = platform.rival.research.automationId
    expect((await call(`${path}/replay-gates/${id}`, 'settings')).status).toBe(404)
    expect((await call(`${rivals}/${id}`, 'settings')).status).toBe(404)
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withSuccessors } from '../../../../../services/platform/connections/model-retirements.ts'
import { watchReleases } from '../../../../../services/platform/projects/watch-releases.ts'
import { definition } from '../../../../support/crew.ts'
import { runPath } from '../../../../../services/web/console/frame/addresses.ts'
import { askAs } from '../../support/forms.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let eve: ReturnType<typeof askAs>
let token: string
let path: string

beforeAll(async () => {
  platform = await openPlatform()
  ada = askAs(platform.app, await platform.signIn(platform.acme))
  eve = askAs(platform.app, await platform.signIn(platform.rival))
  token = await platform.issueToken(platform.acme)
  const [found] = await platform.sql<{ projectId: number }[]>`
    select project_id from project_versions where id = ${platform.acme.research.projectVersionId}`
  path = `/projects/${found?.projectId ?? 0}`
})

afterAll(() => platform.close())

/** Adds a draft, and publishes it as its form does; returns where that leads. */
async function publish(fields: Record<string, string> = {}, crew = definition): Promise<string> {
  const added = await ada.post(`${path}/versions`, { definition: JSON.stringify(crew) })
  const version = (added.headers.get('location') ?? '').split('?')[0] ?? ''
  return (await ada.post(`${version}/publish`, fields)).headers.get('location') ?? ''
}

const page = async (address: string): Promise<string> =>
  (await (await ada.get(address)).text()).replaceAll(/\s+/g, ' ')

async function api(method: string, body?: unknown, as = token): Promise<Response> {
  return platform.app.request(`${BASE_URL}/designer/v2${path}/release`, {
    method,
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

const release = async (): Promise<Record<string, unknown>> => readObject(await api('GET'))

describe('the release of a version', () => {
  it('is taken back by one button after it was published', async () => {
    const at = await publish()
    expect(at).toBe(`${path}/versions/2?notice=version-published&former=1`)
    const shown = await page(at)
    expect(shown).toContain('This version takes all calls.')
    expect(shown).toContain(`<form method="post" action="${path}/versions/1/release">`)
    expect(shown).toContain('Undo')
    const undone = await ada.post(`${path}/versions/1/release`)
    expect(undone.headers.get('location')).toBe(
      `${path}/versions/1?notice=version-released&former=2`,
    )
    expect(await release()).toEqual({ running_version: 1, shared: null, last_rollback: null })
    const list = await page(path)
    expect(list).toMatch(/Version 2<\/a>.*?Published.*?Version 1<\/a>.*?In use/)
  })

  it('gives it a share, shows both side by side, and ends by a button', async () => {
    const at = await publish({ percent: '10' })
    expect(at).toBe(`${path}/versions/3?notice=version-shared&former=1`)
    const shown = await page(at)
    expect(shown).toContain('This version takes 10 of 100 calls.')
    expect(shown).toContain('Version 1</a> takes the others.')
    expect(await page(path)).toMatch(/Version 3<\/a>.*?10 of 100 calls/)
    const more = await ada.post(`${path}/versions/3/release`, {
      percent: '50',
      sticky_input: 'topic',
    })
    expect(await page(more.headers.get('location') ?? '')).toContain(
      'calls, chosen by the input <code>topic</code>.',
    )
    const ended = await ada.post(`${path}/release/end`)
    expect(await page(ended.headers.get('location') ?? '')).toContain('The share is taken back.')
    expect(await release()).toEqual({ running_version: 1, shared: null, last_rollback: null })
  })

  it('is what the API says and changes', async () => {
    const given = await api('PUT', { version: 2, percent: 5, sticky_input: 'topic' })
    expect(given.status).toBe(200)
    const runs = [1, 2].map((version) => ({
      version,
      runs: 0,
      ended: 0,
      failed: 0,
      median_seconds: null,
      mean_tokens: null,
    }))
    const shared = { version: 2, percent: 5, sticky_input: 'topic', runs }
    expect(await readObject(given)).toMatchObject({ running_version: 1, shared })
    expect((await api('DELETE')).status).toBe(204)
    expect((await api('DELETE')).status).toBe(204)
    expect(await readObject(await api('PUT', { version: 2 }))).toEqual({
      running_version: 2,
      shared: null,
      last_rollback: null,
    })
  })

  it('is taken back by a rule, which people set, see tested, and switch off', async () => {
    const at = `${path}/versions/1`
    const fields = { percent: '10', rollback: 'asked', takes_back: '1', error_percent: '5' }
    const margins = { failure_points: '2', cost_percent: '', rating_points: '' }
    await ada.post(`${at}/release`, { ...fields, ...margins })
    const rule = { failure_points: 2, cost_percent: null, rating_points: null, error_percent: 5 }
    expect(await release()).toMatchObject({
      shared: { rollback: { ...rule, mail: [] }, test: null },
    })
    expect(await page(at)).toContain('No run of it has been looked at yet.')
    await watchReleases(platform.sql, [])
    expect(await release()).toMatchObject({
      shared: {
        test: {
          runs: { running: 0, new: 0 },
          measures: [{ measure: 'failures', worse_by: { low: -100, high: 100 }, allowed: 2 }],
        },
      },
    })
    expect(await page(at)).toMatch(/Failed runs.*-100 to 100 points.*2 points/)
    await ada.post(`${at}/release`, { ...fields, takes_back: '' })
    expect(await release()).toMatchObject({ shared: { rollback: null, test: null } })
    expect(await page(at)).not.toContain('Test against version')
    const wrong = await ada.post(`${at}/release`, { ...fields, ...margins, failure_points: '1e2' })
    expect([wrong.status, await wrong.text()]).toEqual([
      422,
      expect.stringContaining('it has to be a whole number from 0 to 100.'),
    ])
    await api('DELETE')
  })

  it('says why the last version was taken back, with links to its worst runs', async () => {
    const { sql, acme } = platform
    const side = { runs: 4, value: 75 }
    const of = { running: { ...side, value: 0 }, new: side }
    const found = { measure: 'failures', of, low: 12.3, high: 90, margin: 5 }
    const id = '00000000-0000-8000-8000-000000000001'
    const run = { kickoff_id: id, automation_id: acme.research.automationId }
    await sql`
      insert into release_rollbacks (project_id, organization_id, number, running, percent, text,
        standing, runs)
      values (${path.split('/').at(-1) ?? ''}, ${acme.organizationId}, 2, 1, 10, 'It is <worse>.',
        ${sql.json({ runs: { running: 4, new: 4 }, measures: [found] })}, ${sql.json([run])})`
    const shown = await page(`${path}/versions/2`)
    expect(shown).toContain('It is &lt;worse&gt;.')
    expect(shown).toContain('12.3 to 90 points')
    expect(shown).toContain(runPath(acme.research, { id }))
    const last = { version: 2, running_version: 1, text: 'It is <worse>.', worst_runs: [run] }
    expect(await release()).toMatchObject({ last_rollback: last })
    await sql`delete from release_rollbacks`
  })

  it('is in the audit with what was given to whom', async () => {
    const entries = await platform.audit()
    expect(
      entries.filter(({ action }) => /release/.test(String(action))).map(({ action }) => action),
    ).toEqual([
      'version_released',
      'version_released',
      'release_ended',
      'version_released',
      'release_ended',
      'version_released',
      'version_released',
      'version_released',
      'release_ended',
    ])
    expect(entries.find(({ action }) => action === 'version_released')).toMatchObject({
      after: { version: 1, percent: 100, sticky_input: null },
    })
  })

  it.each([
    [{ version: 2, percent: 0 }, 422, 'percent must be a whole number from 1 to 100'],
    [{ version: 2, percent: 12.5 }, 422, 'percent must be a whole number'],
    [{ version: '2' }, 422, 'version must be a whole number'],
    [{ version: 1, percent: 10, sticky_input: 'nothing' }, 422, 'no input'],
    [{ version: 99 }, 404, 'no such version'],
    [{ version: 2, percent: 10 }, 409, 'takes all other calls already'],
    [{ version: 1, share: 10 }, 422, 'share is not known'],
    [{ version: 1, rollback: { error_percent: 0 } }, 422, 'rollback.error_percent must be a whole'],
    [{ version: 1, percent: 5, rollback: { mail: ['eve@rival.example'] } }, 422, 'not the address'],
  ])('is refused for %j', async (body, status, message) => {
    const refused = await api('PUT', body)
    expect([refused.status, String((await readObject(refused))['message'])]).toEqual([
      status,
      expect.stringContaining(message),
    ])
  })

  it('is no matter of other organizations, and of those who may only look', async () => {
    const foreign = await platform.issueToken(platform.rival)
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const body = method === 'PUT' ? { version: 1 } : undefined
      expect((await api(method, body, foreign)).status).toBe(404)
    }
    expect((await eve.post(`${path}/versions/1/release`)).status).toBe(404)
    expect((await eve.post(`${path}/release/end`)).status).toBe(404)
    const odd = await ada.post(`${path}/versions/1/release`, { percent: '101' })
    expect(odd.status).toBe(422)
    // What a link says is no button that leads elsewhere.
    const linked = await page(`${path}/versions/2?notice=version-released&former=1/../../x`)
    expect(linked).not.toContain('Undo')
    expect(await release()).toEqual({ running_version: 2, shared: null, last_rollback: null })
  })
})

describe('a model that its provider turns off', () => {
  const set = (model: string) => publish({}, { ...definition, llm: { ...definition.llm, model } })
  const automation = () => page(`/automations/${platform.acme.research.automationId}`)

  it('is named on the dashboard and on the page of each automation that calls it', async () => {
    await set('openai/GPT-3.5-Turbo')
    const link = `href="/automations/${platform.acme.research.automationId}"`
    expect(await page('/')).toMatch(
      new RegExp(`1 automation calls a model that its provider turns off soon.*?${link}`),
    )
    expect(await automation()).toMatch(
      /openai\/GPT-3.5-Turbo<\/span>, which its provider turns off on 2026-10-23 .*?gpt-4.1-mini/,
    )
    const others = await (await eve.get('/')).text()
    expect(others).not.toContain('turns off')
  })

  it('is replaced in a draft by one press, of those who may write one', async () => {
    const [action = ''] = /\/projects\/\d+\/versions\/\d+\/successor/.exec(await automation()) ?? []
    expect((await eve.post(action)).status).toBe(404)
    const to = (await ada.post(action)).headers.get('location') ?? ''
    expect(to).toContain('?notice=successor-drafted')
    const draft = await (await ada.get(`${to.split('?')[0]}/definition`)).text()
    expect(JSON.parse(draft)).toEqual({
      ...definition,
      llm: { ...definition.llm, model: 'openai/gpt-4.1-mini' },
    })
  })

  it('has the day that the operator says', async () => {
    await set('our-model')
    expect(await automation()).not.toContain('turns off')
    const own = { models: ['our-model', 'gpt-5'], on: '2026-01-01' }
    const app = platform.appAt(BASE_URL, {
      MODEL_RETIREMENTS: JSON.stringify({ retirements: [own] }),
    })
    const asked = askAs(app, await platform.signIn(platform.acme))
    const shown = await (
      await asked.get(`/automations/${platform.acme.research.automationId}`)
    ).text()
    expect(shown.replaceAll(/\s+/g, ' ')).toMatch(/our-model<\/span>, which .* 2026-01-01/)
    expect(shown).not.toContain('/successor')
  })
})

it('replaces a model wherever a version calls it, and keeps the name of its provider', () => {
  const llm = { model: 'azure/gpt-x', temperature: 0 }
  const guardrail = { type: 'llm', instruction: 'Is it short?', model: 'gpt-x' } as const
  const [task] = definition.tasks
  const [agent] = definition.agents
  if (!task || !agent) throw new Error('an empty crew')
  const crew = {
    ...definition,
    agents: [{ ...agent, llm }, ...definition.agents.slice(1)],
    manager_llm: llm,
    tasks: [
      { ...task, guardrail },
      { ...task, key: 'other', guardrails: [guardrail] },
    ],
  }
  const text = JSON.stringify(
    withSuccessors(crew, new Map([['gpt-x', { on: '2026-01-01', successor: 'gpt-y' }]])),
  )
  expect(text).toBe(JSON.stringify(crew).replaceAll('gpt-x', 'gpt-y'))
  const later = new Map([['gpt-x', { on: '9999-01-01', successor: 'gpt-y' }]])
  expect(withSuccessors(crew, later)).toEqual(crew)
})

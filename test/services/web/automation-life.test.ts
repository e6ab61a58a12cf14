import { afterAll, beforeEach, afterEach, describe, expect, it } from 'vitest'
import { deleteRemovedAutomation } from '../../../services/platform/crews/automation-life.ts'
import { takeRuns } from '../../../services/platform/runs/run-queue.ts'
import { runDueSchedules } from '../../../services/platform/schedules/run-schedules.ts'
import { BASE_URL, openPlatform, readObject } from './support/platform.ts'
import type { Platform, SignedInUser } from './support/platform.ts'

let platform: Platform
let ada: SignedInUser
let token: string
const closing: Promise<void>[] = []

beforeEach(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
  token = await platform.issueToken(platform.acme)
})
afterEach(() => void closing.push(platform.close()))
afterAll(() => Promise.all(closing))

const path = () => `/automations/${platform.acme.research.automationId}`

type Answer = Record<string, unknown>

async function api(method: string, suffix = '', tenant = platform.acme): Promise<Answer> {
  const own = tenant === platform.acme ? token : await platform.issueToken(tenant)
  const authorization = `Bearer ${own}`
  const url = `${BASE_URL}/designer/v2${path()}${suffix}`
  const response = await platform.app.request(url, { method, headers: { authorization } })
  return { code: response.status, ...(await readObject(response)) }
}

const post = (to: string) =>
  platform.app.request(`${path()}${to}`, {
    method: 'POST',
    body: new URLSearchParams({ csrf_token: ada.csrfToken }),
    headers: { cookie: ada.cookie },
  })

async function read(to: string): Promise<string> {
  const response = await platform.app.request(to, { headers: { cookie: ada.cookie } })
  return (await response.text()).replace(/\s+/g, ' ')
}

async function kickoff(): Promise<Answer> {
  const bearer = await platform.issueToken(platform.acme, platform.acme.research.id)
  const url = `${BASE_URL}/platform/api/v1/crew/${platform.acme.research.automationId}/kickoff`
  const response = await platform.app.request(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify({ inputs: { topic: 'tides' } }),
  })
  return { code: response.status, ...(await readObject(response)) }
}

describe('an automation that is designed', () => {
  it('is stopped and started on its settings; runs wait, and callers are told', async () => {
    expect(await read(`${path()}/settings`)).toContain(`action="${path()}/crew/stop"`)
    const stopped = await post('/crew/stop')
    expect(stopped.headers.get('location')).toBe(`${path()}/settings?notice=crew-stop`)
    expect(await read(path())).toContain('It was stopped. Start it')
    const answer = await kickoff()
    expect(answer).toMatchObject({ code: 202 })
    expect(answer['message']).toMatch(/^The run waits: the automation is offline\./)
    expect(await takeRuns(platform.sql, 1)).toEqual([])
    expect(await read(`${path()}/settings`)).toContain(`action="${path()}/crew/start"`)
    const schedule = { name: 'often', cron: '* * * * *', time_zone: 'UTC', missed: 'skip' }
    await platform.app.request(`${path()}/schedules`, {
      method: 'POST',
      body: new URLSearchParams({
        csrf_token: ada.csrfToken,
        inputs: '{"topic": "tides"}',
        ...schedule,
      }),
      headers: { cookie: ada.cookie },
    })
    await runDueSchedules(platform.sql, { at: new Date(Date.now() + 61_000) })
    const [kept] = await platform.sql`select last_problem from schedules`
    expect(kept?.['lastProblem']).toContain('The automation is stopped')
    await platform.sql`delete from schedules`
    await post('/crew/start')
    expect(await takeRuns(platform.sql, 1)).toHaveLength(1)
    const entries = await platform.audit()
    expect(entries.map(({ action }) => action)).toEqual([
      'crew_stopped',
      'schedule_created',
      'crew_started',
    ])
  })

  it('offers no form that starts a run once its crew has failed', async () => {
    expect(await read(path())).toContain(`action="${path()}/executions"`)
    await platform.sql`
      update deployments set status = 'Crew has Failed', status_reason = 'It ended.'
      where id = ${platform.acme.research.id}`
    const page = await read(path())
    expect(page).not.toContain(`action="${path()}/executions"`)
    expect(page).toContain('Its crew has failed')
  })

  it('is marked as the one that runs among the published versions of its project', async () => {
    const { sql, acme } = platform
    const [{ projectId }] = await sql<[{ projectId: number }]>`
      insert into project_versions (project_id, organization_id, number, definition, published_at)
      select project_id, organization_id, 2, definition, now() from project_versions
      where id = ${acme.research.projectVersionId} returning project_id`
    await sql`
      update deployments set project_version_id =
        (select id from project_versions where project_id = ${projectId} and number = 2)
      where id = ${acme.research.id}`
    await sql`update projects set last_version = 2 where id = ${projectId}`
    const page = await read(`/projects/${projectId}`)
    expect(page).toMatch(
      /Version 2<\/a>.*?pill good">In use<.*Version 1<\/a>.*?pill idle">Published</,
    )
  })

  it('is stopped, started and deleted by the designer API, by its own organization', async () => {
    expect(await api('POST', '/stop', platform.rival)).toMatchObject({ code: 404 })
    const stopped = await api('POST', '/stop')
    expect(stopped).toMatchObject({ code: 202, settings: null, newest_deployment: null })
    expect(stopped['stopped_at']).not.toBeNull()
    expect((await api('POST', '/start'))['stopped_at']).toBeNull()
    expect((await api('DELETE', ''))['removing_since']).not.toBeNull()
    expect(await api('DELETE', '')).toMatchObject({ code: 409 })
    expect(await api('POST', '/start')).toMatchObject({ code: 409 })
    expect(await api('POST', '/restart')).toMatchObject({ code: 404 })
  })

  it('is deleted with its runs, and its project can be deleted then', async () => {
    await kickoff()
    const [{ projectId }] = await platform.sql<[{ projectId: number }]>`
      select v.project_id from deployments d
        join project_versions v on v.id = d.project_version_id
      where d.id = ${platform.acme.research.id}`
    const project = `/projects/${projectId}`
    const remove = () =>
      platform.app.request(`${project}/delete`, {
        method: 'POST',
        body: new URLSearchParams({ csrf_token: ada.csrfToken }),
        headers: { cookie: ada.cookie },
      })
    expect(await (await remove()).text()).toContain('Delete the automation first')
    expect(await read(`${path()}/delete`)).toContain('Its project stays')
    const removed = await post('/delete')
    expect(removed.headers.get('location')).toBe('/automations?notice=automation-removed')
    expect(await kickoff()).toMatchObject({ code: 409 })
    for (let turns = 0; turns < 3; turns += 1) await deleteRemovedAutomation(platform.sql)
    expect(await api('GET')).toMatchObject({ code: 404 })
    expect(await platform.sql`select from executions`).toHaveLength(0)
    const gone = await remove()
    expect([gone.status, await gone.text()]).toEqual([303, ''])
    expect((await read(project)).length).toBeGreaterThan(0)
    expect(await platform.sql`select from projects where id = ${projectId}`).toHaveLength(0)
  })
})

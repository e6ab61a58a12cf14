import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { askAs, pressUndo } from '../support/forms.ts'
import { openPlatform, readObject } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let path: string

beforeAll(async () => {
  platform = await openPlatform()
  ada = askAs(platform.app, await platform.signIn(platform.acme))
  path = `/automations/${platform.acme.research.automationId}/schedules`
})

afterAll(() => platform.close())

const read = async (at: string, status = 200): Promise<string> => {
  const answer = await ada.get(at)
  expect(answer.status).toBe(status)
  return (await answer.text()).replace(/\s+/g, ' ')
}

const nightly = {
  name: 'nightly',
  cron: ' 30  2 * * * ',
  time_zone: 'Europe/Berlin',
  missed: 'run_once',
  inputs: '{"topic": "tides"}',
}

describe('the schedules of an automation', () => {
  it('are created, changed, paused, resumed and deleted', async () => {
    expect(await read(path)).toContain('No schedules yet')
    const created = await ada.post(path, nightly)
    const at = (created.headers.get('location') ?? '').replace(/\?.*/, '')
    const page = await read(at)
    expect(page).toContain('value="30 2 * * *"')
    expect(page).toContain('Next five times')
    expect(page.match(/<time /g)).toHaveLength(5)
    expect(await read(path)).toContain('>nightly</a>')
    await ada.post(at, { ...nightly, name: 'daily', cron: '0 9 * * *' })
    expect(await read(at)).toContain('<h1 class="break">daily</h1>')
    const paused = await ada.post(`${at}/pause`)
    expect(await read(at)).toContain('Paused: it would come at these times.')
    await pressUndo(ada, paused)
    expect(await read(at)).not.toContain('Paused')
    expect(await read(`${at}/delete`)).toContain('Delete the schedule daily?')
    await ada.post(`${at}/delete`)
    await read(at, 404)
  })

  it('propose inputs of the right types, with their defaults and first choices', async () => {
    const { sql, acme } = platform
    const declared = [
      'topic',
      { name: 'order', type: 'integer', default: 7 },
      { name: 'tone', enum: ['dry', 'warm'] },
      { name: 'pages', type: 'integer' },
      { name: 'note', required: false },
    ]
    const [{ definition }] = await sql<[{ definition: object }]>`
      select definition from project_versions where id = ${acme.digest.projectVersionId}`
    const [{ id }] = await sql<[{ id: number }]>`
      insert into project_versions (project_id, organization_id, number, definition, published_at)
      select project_id, organization_id, 99,
        ${sql.json({ ...definition, inputs: declared })}, now()
      from project_versions where id = ${acme.digest.projectVersionId} returning id`
    await sql`update deployments set project_version_id = ${id} where id = ${acme.digest.id}`
    const own = `/automations/${acme.digest.automationId}/schedules`
    const page = await (await ada.get(own)).text()
    const proposed = /name="inputs"[^>]*>([^<]*)</.exec(page)?.[1]?.replaceAll('&quot;', '"') ?? ''
    expect(JSON.parse(proposed)).toEqual({ topic: '', order: 7, tone: 'dry', pages: 0 })
    const inputs = proposed.replace('"topic": ""', '"topic": "tides"')
    expect((await ada.post(own, { ...nightly, inputs })).status).toBe(303)
  })

  it.each([
    [{ name: '' }, 'Give the schedule a name'],
    [{ cron: '* * *' }, 'has 3 fields of cron'],
    [{ cron: '99 * * * *' }, 'Invalid value for minute: 99'],
    [{ time_zone: 'Nowhere' }, 'There is no time zone “Nowhere”'],
    [{ missed: 'x' }, 'must be skip or run_once'],
    [{ inputs: '[1]' }, 'Inputs must be an object.'],
    [{ inputs: '{"topik": "x"}' }, 'topik'],
  ])('refuse %o in words, and keep what was typed', async (fields, problem) => {
    const answer = await ada.post(path, { ...nightly, name: '<b>typed</b>', ...fields })
    expect(answer.status).toBe(422)
    const text = (await answer.text()).replace(/\s+/g, ' ')
    expect(text).toContain(problem)
    expect(text).not.toContain('<b>typed')
    expect(text).toContain('Europe/Berlin'.slice(0, 'time_zone' in fields ? 0 : undefined))
  })

  it('belong to their automation and its organization', async () => {
    const created = await ada.post(path, nightly)
    const at = (created.headers.get('location') ?? '').replace(/\?.*/, '')
    const eve = askAs(platform.app, await platform.signIn(platform.rival))
    for (const each of [path, at, `${at}/delete`]) expect((await eve.get(each)).status).toBe(404)
    expect((await eve.post(`${at}/delete`)).status).toBe(404)
    const { research, digest } = platform.acme
    await read(at.replace(research.automationId, digest.automationId), 404)
    await read(`${path}/99999999999`, 404)
  })
})

describe('the schedules of an automation, over the API', () => {
  let base: string
  beforeAll(() => {
    base = `/designer/v2/automations/${platform.acme.research.automationId}/schedules`
  })

  const issue = (scopes: readonly ('design' | 'read')[], tenant = platform.acme) =>
    issueStaticToken(platform.sql, {
      organizationId: tenant.organizationId,
      deploymentId: null,
      name: 'API',
      createdBy: tenant.userId,
      scopes,
    })
  const call = async (token: string, request: string, body?: unknown) => {
    const [method = '', at = ''] = request.split(' ')
    return platform.app.request(at, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
  }
  const workdays = {
    name: 'Workdays',
    cron: '30 8 * * MON-FRI',
    time_zone: 'Europe/Berlin',
    inputs: { topic: 'tides' },
  }

  it('are created, listed, changed, paused, resumed and deleted, as the audit tells', async () => {
    const token = await issue(['design'])
    const created = await call(token, `POST ${base}`, workdays)
    expect(created.status).toBe(201)
    const at = created.headers.get('location') ?? ''
    const first = await readObject(created)
    expect(first).toMatchObject({ ...workdays, missed: 'skip', paused_at: null, last_at: null })
    expect(first['next_times']).toHaveLength(5)
    const list = await readObject(await call(token, `GET ${base}`))
    expect(list['schedules']).toContainEqual(first)
    const change = { ...workdays, name: 'Daily', cron: ' 0  9 * * *', missed: 'run_once' }
    const changed = await readObject(await call(token, `PUT ${at}`, change))
    expect(changed).toMatchObject({ name: 'Daily', cron: '0 9 * * *', missed: 'run_once' })
    const paused = await readObject(await call(token, `POST ${at}/pause`))
    expect(paused).toMatchObject({ paused_at: expect.any(String), next_times: [] })
    // A change does not wake it.
    expect(await readObject(await call(token, `PUT ${at}`, change))).toMatchObject({
      next_times: [],
    })
    const resumed = await readObject(await call(token, `POST ${at}/resume`))
    expect(resumed['next_times']).toHaveLength(5)
    expect((await call(token, `DELETE ${at}`)).status).toBe(204)
    expect((await call(token, `GET ${at}`)).status).toBe(404)
    const entries = await platform.sql<{ text: string }[]>`
      select action || ' by ' || actor_name as text from audit_entries
      where actor_kind = 'token' order by id`
    expect(entries.map(({ text }) => text)).toEqual(
      ['created', 'changed', 'paused', 'changed', 'resumed', 'deleted'].map(
        (verb) => `schedule_${verb} by API`,
      ),
    )
  })

  it.each([
    [{ name: ' x' }, 'Give the schedule a name'],
    [{ cron: '0 0 31 2 *' }, 'never occurs'],
    [{ time_zone: 'Nowhere' }, 'There is no time zone'],
    [{ missed: 'later' }, 'skip or run_once'],
    [{ inputs: { topik: 'x' } }, 'topik'],
    [{ inputs: [] }, 'must be an object'],
    [{ name: 'x'.repeat(1000) }, 'must have at most 200 characters'],
    [{ next_at: '2026-01-01' }, 'next_at is not known'],
  ])('refuse %o in words', async (fields, problem) => {
    const answer = await call(await issue(['design']), `POST ${base}`, { ...workdays, ...fields })
    expect(answer.status).toBe(422)
    expect(String((await readObject(answer))['message'])).toContain(problem)
  })

  it('take the scope to design, and are nothing for another organization', async () => {
    const owner = await issue(['design'])
    const at = (await call(owner, `POST ${base}`, workdays)).headers.get('location') ?? ''
    const reader = await issue(['read'])
    expect((await call(reader, `GET ${at}`)).status).toBe(200)
    expect((await call(reader, `POST ${at}/pause`)).status).toBe(403)
    const rival = await issue(['design'], platform.rival)
    for (const request of [`GET ${base}`, `GET ${at}`, `DELETE ${at}`, `POST ${at}/pause`]) {
      expect((await call(rival, request)).status).toBe(404)
    }
  })
})

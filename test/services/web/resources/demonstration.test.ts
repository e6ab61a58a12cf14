import { readdirSync, readFileSync } from 'node:fs'
import type { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { createRights } from '../../../../services/web/gate/callers/rights.ts'
import type { WebApp } from '../../../../services/web/context.ts'
import { resourceRow } from '../../../../scripts/resource-table.ts'
import { scopedPathsOf } from '../../../../services/web/resources/rights.ts'
import { askAs, pressUndo } from '../support/forms.ts'
import { openPlatform, readObject } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'
import { openReminders } from './reminders-app.ts'
import { reminders } from './reminders.ts'

let platform: Platform
let app: Hono<WebApp>
let ada: ReturnType<typeof askAs>
let path: string
type Call = (request: string, body?: unknown, more?: Record<string, string>) => Promise<Response>
let api: Call

beforeAll(async () => {
  platform = await openPlatform()
  const { sql, acme } = platform
  app = await openReminders(platform)
  ada = askAs(app, await platform.signIn(acme))
  path = `/automations/${acme.research.automationId}/reminders`
  const token = await issueStaticToken(sql, {
    organizationId: acme.organizationId,
    deploymentId: null,
    name: 'CI',
    createdBy: acme.userId,
  })
  api = async (request, body, more) => {
    const [method = '', at = ''] = request.split(' ')
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...more,
    }
    return app.request(at, { method, headers, body: body ? JSON.stringify(body) : null })
  }
})

afterAll(() => platform.close())

const read = async (at: string): Promise<string> =>
  (await (await ada.get(at)).text()).replace(/\s+/g, ' ')

const REMINDER = { note: 'Renew <it>', channel: 'chat', days: [30, 3], password: 'a-secret' }

describe('a noun that is declared', () => {
  it('takes one file of at most 80 lines beside its verbs', () => {
    const file = new URL('reminders.ts', import.meta.url)
    expect(readFileSync(file, 'utf8').split('\n').length).toBeLessThanOrEqual(80)
  })

  it('needs an engine of at most 1,500 lines', () => {
    const folder = new URL('../../../../services/web/resources/', import.meta.url)
    const files = readdirSync(folder).filter((name) => name.endsWith('.ts'))
    const lines = files.map(
      (name) => readFileSync(new URL(name, folder), 'utf8').split('\n').length,
    )
    expect(lines.reduce((all, each) => all + each)).toBeLessThanOrEqual(1500)
  })

  it('has pages: a list with a form, one for each, and a question before the end', async () => {
    const list = await read(path)
    expect(list).toContain('A reminder tells people of what is due.')
    // What is proposed, and the default of the field.
    expect(list).toContain('<option value="mail" selected>')
    expect(list).toContain('name="days" rows="2" spellcheck="false"> []</textarea>')
    const fields = { ...REMINDER, days: '[30, 3]' }
    const created = await ada.post(path, fields)
    const at = (created.headers.get('location') ?? '').replace(/\?.*/, '')
    expect(await read(created.headers.get('location') ?? '')).toContain('The reminder is saved.')
    const page = await read(at)
    expect(page).toContain('value="Renew &lt;it&gt;"')
    // What is fixed is not asked for again, and a secret is never shown.
    expect(page).not.toContain('name="channel"')
    expect(page).not.toContain('a-secret')
    const refused = await ada.post(at, { ...fields, note: '' })
    expect(refused.status).toBe(422)
    expect(await refused.text()).toContain('Note must have a character.')
    await ada.post(at, { note: 'Renew', days: '', channel: 'mail', password: '' })
    const [row] = await platform.sql`select note, channel, days, password from reminders`
    expect(row).toMatchObject({ ...REMINDER, note: 'Renew', days: [] })
    const paused = await ada.post(`${at}/pause`)
    expect(await read(paused.headers.get('location') ?? '')).toContain('The reminder is paused.')
    await expect(pressUndo(ada, paused)).rejects.toThrow('Undo')
    expect(await read(`${at}/delete`)).toContain('People are reminded no more.')
    await ada.post(`${at}/delete`)
    expect((await ada.get(at)).status).toBe(404)
  })

  it('has an API, whose answers lack secrets', async () => {
    const created = await api(`POST /designer/v2${path}`, REMINDER)
    expect(created.status).toBe(201)
    const at = created.headers.get('location') ?? ''
    const { password: _, ...shown } = REMINDER
    const document = await readObject(created)
    expect(document).toMatchObject({ ...shown, paused_at: null })
    expect(document).not.toHaveProperty('password')
    expect(await readObject(await api(`GET /designer/v2${path}`))).toEqual({
      reminders: [document],
    })
    const moved = await api(`PUT ${at}`, { ...REMINDER, channel: 'mail' })
    expect(moved.status).toBe(422)
    expect(await moved.text()).toContain('channel cannot change')
    expect((await api(`PUT ${at}`, { ...shown, note: 'Later' })).status).toBe(200)
    expect(await readObject(await api(`POST ${at}/pause`))).toMatchObject({ note: 'Later' })
    expect((await api(`DELETE ${at}`)).status).toBe(204)
    expect((await api(`GET ${at}`)).status).toBe(404)
  })

  it('takes as many as there may be, and says so by page and API', async () => {
    for (let made = 0; made < 3; made++) await api(`POST /designer/v2${path}`, REMINDER)
    expect(await read(path)).not.toContain('New reminder')
  })

  it('has entries in the audit, one for each change, without secrets', async () => {
    const entries = await platform.sql<{ action: string; after: object | null }[]>`
      select action, after from audit_entries where target_kind = 'reminder' order by id limit 9`
    expect(entries.map(({ action }) => action)).toEqual(
      [
        'created',
        'changed',
        'paused',
        'deleted',
        'created',
        'changed',
        'paused',
        'deleted',
        'created',
      ].map((past) => `reminder_${past}`),
    )
    expect(entries[0]?.after).toEqual({ note: 'Renew <it>', channel: 'chat', days: [30, 3] })
    expect(JSON.stringify(entries)).not.toContain('a-secret')
  })

  it('has versions: a change for a former one is refused, and changes nothing', async () => {
    await platform.sql`delete from reminders`
    const created = await api(`POST /designer/v2${path}`, REMINDER)
    const at = created.headers.get('location') ?? ''
    const first = created.headers.get('etag') ?? ''
    expect((await readObject(created))['version']).toBe(first.slice(1, -1))
    const change = (note: string, etag: string, method = 'PUT') =>
      api(`${method} ${at}`, method === 'PUT' ? { ...REMINDER, note } : undefined, {
        'if-match': etag,
      })
    const changed = await change('Later', first)
    expect([changed.status, (await api(`GET ${at}`)).headers.get('etag')]).toEqual([
      200,
      changed.headers.get('etag'),
    ])
    const late = await change('Latest', first)
    expect(late.status).toBe(412)
    expect(await readObject(late)).toMatchObject({
      error: 'precondition_failed',
      details: { version: changed.headers.get('etag')?.slice(1, -1) },
    })
    expect((await change('', `W/${changed.headers.get('etag')}`, 'DELETE')).status).toBe(412)
    // Of several changes for one version a single one is made.
    const notes = ['a', 'b', 'c', 'd'].map((note) =>
      change(note, changed.headers.get('etag') ?? ''),
    )
    const answers = (await Promise.all(notes)).map(({ status }) => String(status))
    expect(answers.toSorted()).toEqual(['200', '412', '412', '412'])
    expect((await change('Any', '*')).status).toBe(200)
    const now = (await api(`GET ${at}`)).headers.get('etag') ?? ''
    expect((await change('', `"x", ${now}`, 'DELETE')).status).toBe(204)
  })

  it('says what would be kept of values, without keeping them', async () => {
    const { password: _, ...shown } = REMINDER
    const checked = await api(`POST /designer/v2${path}?dry_run=true`, REMINDER)
    expect([checked.status, await readObject(checked)]).toEqual([200, shown])
    const refused = await api(`POST /designer/v2${path}?dry_run=true`, { ...REMINDER, note: '' })
    expect(refused.status).toBe(422)
    expect((await api(`POST /designer/v2${path}?dry_run=yes`, REMINDER)).status).toBe(400)
    expect(await readObject(await api(`GET /designer/v2${path}`))).toEqual({ reminders: [] })
  })

  it('is not changed by a form from before a change, which keeps what was typed', async () => {
    const made = await readObject(await api(`POST /designer/v2${path}`, REMINDER))
    const at = `${path}/${String(made['id'])}`
    const fields = { days: '[]', row_version: String(made['version']) }
    expect(await read(at)).toContain(`name="row_version" value="${fields.row_version}"`)
    expect((await ada.post(at, { ...fields, note: 'Now' })).status).toBe(303)
    const stale = await ada.post(at, { ...fields, note: 'Mine' })
    const shown = (await stale.text()).replace(/\s+/g, ' ')
    expect(stale.status).toBe(422)
    expect(shown).toContain('The reminder was changed meanwhile')
    expect(shown).toContain('value="Mine"')
    expect(await read(at)).toContain('value="Now"')
    const [, now = ''] = /name="row_version" value="([\w-]+)"/.exec(shown) ?? []
    expect((await ada.post(at, { days: '[]', row_version: now, note: 'Mine' })).status).toBe(303)
    await api(`DELETE /designer/v2${at}`)
  })

  it('has rights, a scope, a description in OpenAPI and a row in the reference', async () => {
    const rights = createRights(() => app)
    expect(rights.find('GET /automations/:automationId/reminders')).toBe('viewer')
    const pause = '/automations/:automationId/reminders/:reminderId/pause'
    expect(rights.find(`POST ${pause}`)).toBe('editor')
    expect(rights.find(`POST /designer/v2${pause}`)).toBe('editor')
    expect([...rights.table().keys()].filter((route) => route.includes('reminders'))).toHaveLength(
      13,
    )
    const [[pattern, scopes] = [], ...others] = reminders.read(scopedPathsOf)
    expect([scopes, others]).toEqual([['settings', 'read', 'design'], []])
    expect(pattern?.test(`/designer/v2${path}/1/pause`)).toBe(true)
    expect(pattern?.test(`/designer/v2${path}ish`)).toBe(false)
    const list = '/designer/v2/automations/{automation_id}/reminders'
    const { paths, components } = await readObject(await app.request('/openapi.json'))
    const { schemas } = Object(components)
    const own = Object.keys(Object(paths)).filter((each) => each.startsWith(list))
    expect(own).toHaveLength(3)
    expect(schemas).toMatchObject({
      ReminderRequest: { required: ['note', 'channel'], properties: { days: { default: [] } } },
      Reminder: {
        required: [
          'id',
          'version',
          'automation_id',
          'note',
          'channel',
          'days',
          'paused_at',
          'managed_by',
        ],
      },
    })
    const parent = { path: '/designer/v2/automations', list: 'automations', name: 'slug' }
    expect(Object(paths)[list]).toMatchObject({
      post: { 'x-resource': { kind: 'reminder', identity: 'note', scope: 'settings', parent } },
    })
    expect(schemas['ReminderRequest']).toMatchObject({
      properties: { channel: { 'x-fixed': true }, password: { writeOnly: true } },
    })
    expect(reminders.read(resourceRow)).toBe(
      '| Reminders | `/designer/v2/automations/{automation_id}/reminders` | `note`, `channel` ' +
        '(fixed), `days` (optional), `password` (optional, never shown) | `pause` | 3 | viewer | ' +
        'editor | `settings` |',
    )
  })
})

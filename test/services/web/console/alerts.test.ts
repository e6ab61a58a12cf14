import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  lookAtAlerts,
  lookAtTraceAlerts,
} from '../../../../services/platform/alerts/look-at-alerts.ts'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { sendAlertMails } from '../../../../services/web/mail/alert-mails.ts'
import { createMailer } from '../../../../services/web/mail/mailer.ts'
import { askAs } from '../support/forms.ts'
import { BASE_URL, openPlatform, readObject } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>

beforeAll(async () => {
  platform = await openPlatform()
  ada = askAs(platform.app, await platform.signIn(platform.acme))
})

afterAll(() => platform.close())

beforeEach(async () => void (await platform.sql`delete from alerts`))

const read = async (at: string, status = 200): Promise<string> => {
  const answer = await ada.get(at)
  expect(answer.status).toBe(status)
  return (await answer.text()).replace(/\s+/g, ' ')
}

const typed = {
  name: 'Research fails',
  watches: 'failure_share',
  automation: '',
  window: '1h',
  threshold: '20',
  resolves_below: '',
  for_minutes: '0',
  minimum: '1',
  mail: '',
}

const create = async (changes: Partial<typeof typed> = {}): Promise<string> => {
  const created = await ada.post('/alerts', { ...typed, ...changes })
  expect(created.status).toBe(303)
  return (created.headers.get('location') ?? '').replace(/\?.*/, '')
}

const fail = async (): Promise<string> => {
  const { sql, acme } = platform
  const [{ id }] = await sql<[{ id: string }]>`
    insert into executions (deployment_id, inputs, status, started_at, finished_at, error)
    values (${acme.research.id}, '{}', 'error', now(), now() - interval '1 second', '{}')
    returning id`
  return id
}

describe('the alerts of an organization', () => {
  it('are created, changed, silenced and deleted, and say what happened', async () => {
    const at = await create({ automation: platform.acme.research.slug })
    expect(await read(at)).toContain('No change yet')
    const run = await fail()
    await lookAtAlerts(platform.sql)
    const page = await read(at)
    expect(page).toContain('100 %')
    expect(page).toContain(`/automations/${platform.acme.research.automationId}/executions/${run}`)
    expect(await read('/alerts')).toContain('firing')
    await ada.post(at, { ...typed, name: 'All fail', threshold: '90' })
    expect(await read(at)).toContain('<h1 class="break">All fail</h1>')
    const costs = { ...typed, watches: 'cost_per_run', threshold: '0.0125' }
    expect(await read(await create(costs))).toMatch(/step="0.0001" name="threshold" value="0.0125"/)
    await ada.post(`${at}/silence`)
    expect(await read(at)).toContain('Firing, silent')
    await ada.post(`${at}/resume`)
    expect(await read(at)).not.toContain('Firing, silent')
    await ada.post(`${at}/delete`)
    await read(at, 404)
  })

  it('watch traces of other programs, and link to the worst of them', async () => {
    const { sql, acme } = platform
    const at = await create({ watches: 'trace_failed_scores' })
    const trace = 'ab'.repeat(16)
    await sql`
      insert into trace_scores (organization_id, trace_id, state, findings, tokens)
      values (${acme.organizationId}, ${trace}, 'failed', '[]', 0)`
    const measure = () => Promise.reject(new Error('no rule asks the collector'))
    expect(await lookAtAlerts(sql)).toBe(0)
    expect(await lookAtTraceAlerts(sql, { measure })).toBe(1)
    const page = await read(at)
    expect(page).toContain(`href="/traces/${trace}"`)
    expect(page).toContain('Share of scored traces that fail a check')
    await sql`delete from trace_scores`
  })

  it('say what this version does not know, as after a rollback, and hold up no other', async () => {
    const { sql } = platform
    const [unknown, known] = [await create({ name: 'New' }), await create({ name: 'Old' })]
    await sql`update alerts set watches = 'moods', state = 'firing' where name = 'New'`
    await sql`
      insert into alert_changes (alert_id, state, at, value, samples, watches, threshold, runs)
      select id, 'firing', now(), 12.5, 1, 'moods', 20, '[]' from alerts where name = 'New'`
    await fail()
    const measure = () => Promise.reject(new Error('no rule asks the collector'))
    expect(await lookAtAlerts(sql)).toBe(1)
    expect(await lookAtTraceAlerts(sql, { measure })).toBe(0)
    expect(await read(known)).toContain('firing')
    const rows = await sql`select state, looked_at from alerts where name = 'New'`
    expect([...rows]).toEqual([{ state: 'firing', lookedAt: null }])
    expect(await read('/alerts')).toContain('Not looked at')
    const page = await read(unknown)
    expect(page).toContain('does not know what it watches, &quot;moods&quot;')
    expect(page).toContain('12.5 <span')
    // Saving must not make another alert of it unseen.
    expect(page).toContain('<option value="moods" selected>')
    const saved = await ada.post(unknown, { ...typed, watches: 'moods' })
    expect(await saved.text()).toContain('must be one of failure_share')
  })

  it('may be mailed to members, where the platform sends mails', async () => {
    const page = await ada.post('/alerts', { ...typed, mail: platform.rival.email })
    expect(await page.text()).toContain('has no mail server')
    const app = platform.appAt(BASE_URL, { SMTP_URL: 'smtp://127.0.0.1:9?tls=off' })
    const mailing = askAs(app, await platform.signIn(platform.acme))
    const refused = await mailing.post('/alerts', { ...typed, mail: platform.rival.email })
    expect(await refused.text()).toContain('is not the address of a member')
  })

  it.each([
    [{ name: ' ' }, 'Name must not be empty'],
    [{ watches: 'moods' }, 'must be one of failure_share'],
    [{ threshold: '101' }, '100 % at the most'],
    [{ threshold: '-1' }, 'must be a number above 0'],
    [{ threshold: '0.00001', watches: 'cost_per_run' }, 'with 4 decimals at the most'],
    [{ threshold: '1.5' }, 'Only dollars have decimals'],
    [{ resolves_below: '21' }, 'not above the one at which it fires'],
    [{ automation: 'nowhere' }, 'no automation with the slug'],
    [{ watches: 'trace_failure_share', filter: 'attribute:a=b' }, 'attributes are not looked up'],
    [{ mail: 'ada@acme.example' }, 'has no mail server'],
    [{ window: '2h' }, 'must be one of 5m'],
  ])('refuse %o in words, and keep what was typed', async (changes, problem) => {
    const answer = await ada.post('/alerts', { ...typed, name: '<b>typed</b>', ...changes })
    expect(answer.status).toBe(422)
    const text = (await answer.text()).replace(/\s+/g, ' ')
    expect(text).toContain(problem)
    expect(text).not.toContain('<b>typed')
  })

  it('belong to their organization, and are changed by editors alone', async () => {
    const { sql, acme, rival, app } = platform
    const at = await create()
    const eve = askAs(app, await platform.signIn(rival))
    expect((await eve.get(at)).status).toBe(404)
    for (const path of [at, `${at}/delete`, `${at}/silence`]) {
      expect((await eve.post(path, typed)).status).toBe(404)
    }
    const other = { ...typed, automation: rival.research.slug, name: 'other' }
    await sql`update deployments set slug = 'of-the-rival' where id = ${rival.research.id}`
    expect((await ada.post('/alerts', { ...other, automation: 'of-the-rival' })).status).toBe(422)
    await sql`update memberships set role = 'viewer' where organization_id = ${acme.organizationId}`
    expect(await read(at)).toContain('Research fails')
    for (const path of ['/alerts', at, `${at}/delete`, `${at}/silence`]) {
      expect((await ada.post(path, typed)).status).toBe(403)
    }
    await sql`update memberships set role = 'admin' where organization_id = ${acme.organizationId}`
  })

  it('are there over the API, for tokens that may design', async () => {
    const call = async (scope: 'read' | 'design', path: string, body?: object) => {
      const secret = await issueStaticToken(platform.sql, {
        organizationId: platform.acme.organizationId,
        deploymentId: null,
        name: 'API',
        createdBy: platform.acme.userId,
        scopes: [scope],
      })
      return platform.app.request(`${BASE_URL}/designer/v2/alerts${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
    }
    const fields = { name: 'Slow', watches: 'duration_p95', threshold: 60 }
    const created = await call('design', '', fields)
    expect(created.status).toBe(201)
    const alert = await readObject(created)
    expect(alert).toMatchObject({
      ...fields,
      automation: null,
      window: '1h',
      resolves_below: null,
      mail: [],
      state: 'ok',
      value: null,
      silenced_until: null,
    })
    expect((await call('read', '', fields)).status).toBe(403)
    const silent = await call('design', `/${String(alert['id'])}/silence`)
    expect((await readObject(silent))['silenced_until']).toMatch(/^20/)
    const actions = await platform.sql<{ action: string }[]>`
      select action from audit_entries where target_kind = 'alert' order by id desc limit 2`
    expect(actions.map(({ action }) => action)).toEqual(['alert_silenced', 'alert_created'])
  })
})

describe('a mail about an alert', () => {
  const mails: string[] = []
  let isDown = false
  let server: SMTPServer
  let url: string

  beforeAll(async () => {
    server = new SMTPServer({
      authOptional: true,
      disableReverseLookup: true,
      onRcptTo: (_address, _session, done) => done(isDown ? new Error('not now') : undefined),
      onData(stream, _session, done) {
        const parts: Buffer[] = []
        stream.on('data', (part: Buffer) => parts.push(part))
        stream.on('end', () => {
          mails.push(Buffer.concat(parts).toString('utf8').replaceAll('=\r\n', ''))
          done()
        })
      },
    })
    server.listen(0, '127.0.0.1')
    await once(server.server, 'listening')
    url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}?tls=off`
  })
  afterAll(() => new Promise<void>((resolve) => server.close(resolve)))

  beforeEach(async () => {
    mails.length = 0
    await platform.sql`delete from executions`
  })

  const send = () => {
    const mailer = createMailer({ url, from: 'crews@platform.test' })
    return sendAlertMails({ sql: platform.sql, mailer, baseUrl: BASE_URL })
  }
  const fire = async (): Promise<string> => {
    const app = askAs(
      platform.appAt(BASE_URL, { SMTP_URL: url }),
      await platform.signIn(platform.acme),
    )
    const answer = await app.post('/alerts', { ...typed, mail: platform.acme.email })
    expect(answer.status).toBe(303)
    const run = await fail()
    expect(await lookAtAlerts(platform.sql)).toBe(1)
    return run
  }
  const hasCome = () => platform.sql`update alert_mails set due_at = now()`

  it('is sent again after a failure, under the same id, and once when it was taken', async () => {
    const run = await fire()
    isDown = true
    expect(await send()).toBe(1)
    expect(await send()).toBe(0)
    const [failed] = await platform.sql`select id, problem from alert_mails`
    expect(failed?.['problem']).toContain('not now')
    isDown = false
    await hasCome()
    const sent = await Promise.all([send(), send()])
    expect(sent.reduce((sum, count) => sum + count)).toBe(1)
    await hasCome()
    expect(await send()).toBe(0)
    expect(mails).toHaveLength(1)
    expect(mails[0]).toContain(`Message-ID: <${String(failed?.['id'])}@platform.test>`)
    expect(mails[0]).toContain('Subject: Firing: Research fails')
    expect(mails[0]).toContain(`${BASE_URL}/automations/`)
    expect(mails[0]).toContain(run)
  })

  it('waits while the mail server is down for a day, and is given up after that', async () => {
    const { sql } = platform
    await sql`delete from alert_mails`
    await fire()
    isDown = true
    // The clock goes on to each next try.
    let hours = 0
    const isOpen = async () => {
      const [mail] = await sql<{ id: string; seconds: number; endedAt: Date | null }[]>`
        select id, extract(epoch from due_at - now())::float8 as seconds, ended_at
        from alert_mails`
      if (mail?.endedAt === null) hours += mail.seconds / 3600
      return mail?.endedAt === null
    }
    for (let tries = 0; tries < 30; tries += 1) {
      expect(await send()).toBe(1)
      expect(await isOpen()).toBe(true)
      await hasCome()
    }
    expect(hours).toBeGreaterThan(20)
    for (let tries = 30; tries < 40 && (await isOpen()); tries += 1) {
      await hasCome()
      await send()
    }
    const [given] = await sql`select problem, tries from alert_mails`
    expect(given).toEqual({ problem: expect.stringContaining('not now'), tries: 36 })
    expect(hours).toBeGreaterThan(24)
    isDown = false
    await hasCome()
    expect(await send()).toBe(0)
    expect(mails).toHaveLength(0)
  })

  it('is not sent to a person who is no member any more', async () => {
    const { sql, acme } = platform
    await fire()
    const [kept] = await sql`
      delete from memberships where organization_id = ${acme.organizationId} returning *`
    await send()
    await sql`insert into memberships ${sql(kept ?? {})}`
    await hasCome()
    expect(await send()).toBe(0)
    expect(mails).toHaveLength(0)
  })
})

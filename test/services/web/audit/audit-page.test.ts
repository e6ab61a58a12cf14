import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  deleteExpiredAudit,
  forwardAudit,
} from '../../../../services/platform/audit/audit-upkeep.ts'
import { OPERATOR, writeAudit } from '../../../../services/platform/audit/audit.ts'
import type { TokenScope } from '../../../../services/platform/automations/token-limits.ts'
import type { Actor } from '../../../../services/platform/audit/audit.ts'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { appendLeaves } from '../../../../services/platform/receipts/append-leaves.ts'
import { signHead } from '../../../../services/platform/receipts/sign-heads.ts'
import { grantRole } from '../../../../services/platform/people/users.ts'
import { until } from '../../../support/until.ts'
import { signInAs } from '../support/every-route.ts'
import { askAs } from '../support/forms.ts'
import { BASE_URL, openPlatform, readObject } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let eve: ReturnType<typeof askAs>

const actorOf = (tenant: Platform['acme']): Actor => ({
  kind: 'person',
  id: String(tenant.userId),
  name: tenant.email,
  organizationId: tenant.organizationId,
  address: '192.0.2.7',
})

beforeAll(async () => {
  platform = await openPlatform()
  const { sql, acme, rival } = platform
  ada = askAs(platform.app, await platform.signIn(acme))
  eve = askAs(platform.app, await platform.signIn(rival))
  await sql.begin(async (tx) => {
    for (let number = 1; number <= 60; number += 1) {
      const target = { kind: 'webhook', id: `hook-${number}`, name: `<b>${number}</b>` }
      const after = { event_types: [`type-${number}`] }
      await writeAudit(tx, actorOf(acme), { action: 'webhook_changed', target, after })
    }
    const flag = { kind: 'feature_flag', id: 'everything' }
    await writeAudit(tx, OPERATOR, { action: 'feature_flag_set', target: flag })
  })
})

afterAll(() => platform.close())

const show = async (path: string, who = ada): Promise<string> => {
  const answer = await who.get(path)
  expect(answer.status).toBe(200)
  return (await answer.text()).replace(/\s+/g, ' ')
}

const exported = async (query: string, who = ada): Promise<Record<string, unknown>[]> => {
  const answer = await who.get(`/audit-export${query}`)
  expect(answer.headers.get('content-type')).toBe('application/x-ndjson')
  const lines = (await answer.text()).split('\n').filter(Boolean)
  return lines.map((line): Record<string, unknown> => ({ ...Object(JSON.parse(line)) }))
}

describe('the page of the audit', () => {
  it('shows who did what, page by page, as text', async () => {
    const first = await show('/audit')
    expect(first).toContain('60 records of acme')
    expect(first).toContain('Webhook changed')
    expect(first).toContain('192.0.2.7')
    expect(first).toContain('&lt;b&gt;60&lt;/b&gt;')
    expect(first).not.toContain('hook-10<')
    const next = /href="(\/audit\?after=[^"]+)"/.exec(first)?.[1] ?? ''
    const second = await show(next)
    expect(second).toContain('hook-10<')
    expect(second).toContain('hook-1<')
    expect(second).not.toContain('hook-11<')
  })

  it('finds by person, action, thing, outcome and day, each with an address', async () => {
    const today = new Date().toISOString().slice(0, 10)
    const all = `/audit?who=ada&action=webhook+changed&outcome=done&since=${today}&until=${today}`
    expect(await show(`${all}&target=hook-33`)).toContain('1 record')
    expect(await show('/audit?who=nobody')).toContain('No records found')
    expect(await show('/audit?outcome=refused')).toContain('No records found')
    expect(await show('/audit?until=2020-01-01')).toContain('No records found')
    expect(await show('/audit?since=2026-02-31&until=x')).toContain('60 records')
  })

  it('is each organization’s own, and the platform’s is for its administrators', async () => {
    expect(await show('/audit', eve)).toContain('No records yet')
    expect(await show('/audit?of=platform', eve)).not.toContain('Feature flag set')
    expect(await exported('?of=platform', eve)).toEqual([])
    await grantRole(platform.sql, platform.rival.userId, 'platform-admin')
    expect(await show('/audit?of=platform', eve)).toContain('Feature flag set')
    expect(await exported('?of=platform', eve)).toMatchObject([{ action: 'feature_flag_set' }])
  })

  it('exports what the filter finds, a JSON object a line', async () => {
    expect(await exported('')).toHaveLength(60)
    expect(await exported('?target=hook-33')).toMatchObject([
      {
        actor: { kind: 'person', name: platform.acme.email },
        action: 'webhook_changed',
        target: { kind: 'webhook', id: 'hook-33' },
        after: { event_types: ['type-33'] },
        address: '192.0.2.7',
      },
    ])
  })

  it('leads to receipts, which admins and tokens for its settings get', async () => {
    const { sql, app, acme, rival } = platform
    expect(await show('/audit')).not.toContain('Download receipt')
    while ((await appendLeaves(sql)) > 0);
    await signHead(sql, { current: 'k'.repeat(32) })
    const page = await show('/audit?target=hook-33')
    const path = /href="(\/audit\/(\d+)\/receipt)"/.exec(page)
    const [, link = '', id = ''] = path ?? []
    const file = await ada.get(link)
    expect(file.headers.get('content-disposition')).toContain(`receipt-audit-${id}.json`)
    const found = await readObject(file)
    expect(found).toMatchObject({ opened: { facts: { target_id: 'hook-33' } } })

    const issue = ({ organizationId, userId }: Platform['acme'], scopes: TokenScope[]) => {
      const made = { organizationId, deploymentId: null, name: 'x', createdBy: userId, scopes }
      return issueStaticToken(sql, made)
    }
    const api = `/designer/v2/audit/${id}/receipt`
    const call = async (token: string, at = api) =>
      app.request(`${BASE_URL}${at}`, { headers: { authorization: `Bearer ${token}` } })
    const settings = await issue(acme, ['settings'])
    expect(await readObject(await call(settings))).toEqual(found)
    const reading = await issue(acme, ['read', 'design'])
    for (const at of [api, api.replace('audit', '%61udit'), `${api}?size=1`])
      expect((await call(reading, at)).status).toBe(403)
    expect((await call(await issue(rival, ['settings']))).status).toBe(404)
    for (const [at, status] of [
      ['/designer/v2/audit/999999/receipt', 404],
      ['/designer/v2/audit/x/receipt', 404],
      [`${api}?size=9999`, 404],
      [`${api}?size=0`, 400],
    ] as const)
      expect((await call(settings, at)).status).toBe(status)
    expect((await eve.get(link)).status).toBe(404)
    const viewer = askAs(app, await signInAs(platform, 'vera', 'viewer'))
    expect((await viewer.get(link)).status).toBe(403)
    expect((await viewer.get(api)).status).toBe(403)
    // What concerns the platform has receipts for its administrators.
    const ofPlatform = await show('/audit?of=platform', eve)
    const its = /href="(\/audit\/\d+\/receipt\?of=platform)"/.exec(ofPlatform)?.[1] ?? ''
    expect((await eve.get(its)).status).toBe(200)
    expect((await ada.get(its)).status).toBe(404)
  })

  it('is for admins, and says who else asked for it', async () => {
    const { sql, acme } = platform
    await sql`update memberships set role = 'viewer' where user_id = ${acme.userId}`
    expect((await ada.get('/audit')).status).toBe(403)
    const refused = () =>
      sql`select target_id from audit_entries where refused and actor_name = ${acme.email}`
    await until(async () => (await refused()).length > 0)
    expect(await refused()).toEqual([{ targetId: 'GET /audit' }])
    await sql`update memberships set role = 'admin' where user_id = ${acme.userId}`
  })
})

describe('the upkeep of the audit', () => {
  it('hands each entry on once, in order, and again when that fails', async () => {
    const { sql } = platform
    const written: string[] = []
    const failing = forwardAudit(sql, () => {
      throw new Error('killed')
    })
    await expect(failing).rejects.toThrow('killed')
    const count = await forwardAudit(sql, ({ id }) => written.push(id))
    expect(written).toHaveLength(count)
    expect(written.map(Number)).toEqual(written.map(Number).toSorted((a, b) => a - b))
    expect(await forwardAudit(sql, () => {})).toBe(0)
  })

  it('deletes what is older than its retention', async () => {
    const { sql } = platform
    expect(await deleteExpiredAudit(sql, 30)).toBe(0)
    await sql`
      insert into audit_entries (at, actor_kind, actor_name, action, target_kind)
      values (now() - interval '31 days', 'operator', 'x', 'old', 'x')`
    expect(await deleteExpiredAudit(sql, 30)).toBe(1)
    expect(await sql`select from audit_entries where action = 'old'`).toHaveLength(0)
  })
})

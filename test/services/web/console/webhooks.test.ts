import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  listDeliveries,
  sendTestMessage,
} from '../../../../services/platform/webhooks/webhook-deliveries.ts'
import { createWebhookKeys } from '../../../../services/platform/webhooks/webhook-keys.ts'
import {
  EVENT_TYPES,
  listWebhooks,
  WEBHOOKS_MAX,
} from '../../../../services/platform/webhooks/webhooks.ts'
import type { Webhook } from '../../../../services/platform/webhooks/webhooks.ts'
import { BASE_URL, openPlatform, SECRET } from '../support/platform.ts'
import type { Platform, SignedInUser } from '../support/platform.ts'

let platform: Platform
let ada: SignedInUser
let path: string

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
  path = `/automations/${platform.acme.research.automationId}/webhooks`
})

beforeEach(async () => {
  await platform.sql`delete from webhook_lines`
  await platform.sql`delete from webhook_messages`
  await platform.sql`delete from webhooks`
})

afterAll(() => platform.close())

const get = (at: string, who = ada) =>
  platform.app.request(`${BASE_URL}${at}`, { headers: { cookie: who.cookie } })

const post = (at: string, fields: readonly (readonly [string, string])[] = [], who = ada) =>
  platform.app.request(`${BASE_URL}${at}`, {
    method: 'POST',
    headers: { cookie: who.cookie, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams([['csrf_token', who.csrfToken], ...fields] as [string, string][]),
  })

const FORM = [
  ['url', 'https://crm.example.com/hooks?x=1'],
  ['event', 'run_completed'],
  ['others', 'llm_call, tool_finished'],
] as const

const hooks = () => listWebhooks(platform.sql, platform.acme.research.id)

async function create(): Promise<Webhook> {
  await post(path, FORM)
  const [webhook] = await hooks()
  if (!webhook) throw new Error('no webhook')
  return webhook
}

async function secretOf(response: Response): Promise<string> {
  const [secret] = /whsec_[\w+/=]+/.exec(await response.text()) ?? []
  if (secret === undefined) throw new Error('no secret')
  return secret
}

describe('the webhooks of an automation', () => {
  it('are created with a key that is shown once, and sealed', async () => {
    const created = await post(path, FORM)
    expect(created.status).toBe(200)
    const secret = await secretOf(created)
    const [webhook] = await hooks()
    expect(webhook).toMatchObject({
      url: 'https://crm.example.com/hooks?x=1',
      eventTypes: ['run_completed', 'llm_call', 'tool_finished'],
      pausedAt: null,
    })
    const [{ sealedKey }] = await platform.sql<
      [{ sealedKey: Buffer }]
    >`select sealed_key from webhooks`
    expect(sealedKey.includes(secret)).toBe(false)
    const key = { id: webhook?.id ?? '', deploymentId: platform.acme.research.id }
    expect(createWebhookKeys(SECRET).open(sealedKey, key)).toBe(secret)
    const page = await (await get(`${path}/${webhook?.id}`)).text()
    expect(page).toContain('crm.example.com')
    expect(page).toMatch(/value="run_completed"\s+checked/)
    expect(page).toContain('value="llm_call tool_finished"')
    expect(page).not.toContain('whsec_')
    expect(await (await get(path)).text()).toContain('run_completed, llm_call, tool_finished')
    const automation = await (await get(path.replace('/webhooks', '/integrate'))).text()
    expect(automation).toContain(`${path}/${webhook?.id}`)
  })

  const refused: [string, string, string][] = [
    ['', 'run_completed', 'must be an absolute address'],
    ['javascript:alert(1)', 'run_completed', 'must be an absolute address'],
    ['http://crm.example.com/', 'run_completed', 'must begin with https://'],
    ['https://u:p@crm.example.com/', 'run_completed', 'no user name, password or fragment'],
    ['https://127.0.0.1/', 'run_completed', 'has no public address'],
    ['https://[fd00::1]/', 'run_completed', 'has no public address'],
    ['https://localhost/', 'run_completed', 'WEBHOOK_PRIVATE_ORIGINS'],
    ['https://crm.example.com/', 'nothing', 'Choose at least one type'],
  ]
  it.each(refused)('refuse %s with %s', async (url, event, why) => {
    const response = await post(path, [
      ['url', url],
      ['event', event],
    ])
    expect(response.status).toBe(422)
    expect(await response.text()).toContain(why)
    expect(await hooks()).toEqual([])
  })

  it('refuse types that are no words, and more than ten webhooks', async () => {
    const [url, event] = FORM
    const odd = await post(path, [url, event, ['others', 'A<b>']])
    expect(odd.status).toBe(422)
    expect(await odd.text()).toContain('“A&lt;b&gt;” is none')
    await Promise.all(Array.from({ length: WEBHOOKS_MAX + 3 }, async () => post(path, FORM)))
    expect(await hooks()).toHaveLength(WEBHOOKS_MAX)
    const more = await post(path, FORM)
    expect(more.status).toBe(422)
    expect(await more.text()).toContain('at most 10 webhooks')
  })

  it('may be at origins that the operator lists, also without TLS', async () => {
    const app = platform.appAt(BASE_URL, { WEBHOOK_PRIVATE_ORIGINS: 'http://10.0.0.7:8080' })
    const body = new URLSearchParams({
      csrf_token: ada.csrfToken,
      url: 'http://10.0.0.7:8080/hooks',
      event: '*',
    })
    const headers = { cookie: ada.cookie, 'content-type': 'application/x-www-form-urlencoded' }
    const created = await app.request(`${BASE_URL}${path}`, { method: 'POST', headers, body })
    expect(created.status).toBe(200)
    expect(await hooks()).toMatchObject([{ url: 'http://10.0.0.7:8080/hooks', eventTypes: ['*'] }])
  })

  it('are changed, tried, paused, resumed, given a new key and deleted', async () => {
    const webhook = await create()
    const at = `${path}/${webhook.id}`
    const changed = await post(at, [
      ['url', 'https://other.example.com/'],
      ['event', '*'],
    ])
    expect(changed.headers.get('location')).toBe(`${at}?notice=webhook-saved`)
    expect(await hooks()).toMatchObject([{ url: 'https://other.example.com/', eventTypes: ['*'] }])
    const bad = await post(at, [['url', 'https://10.0.0.1/']])
    expect(bad.status).toBe(422)
    const tested = await post(`${at}/test`)
    const message = tested.headers.get('location') ?? ''
    const [waiting] = (await listDeliveries(platform.sql, webhook.id, { limit: 5 })).items
    expect(waiting).toMatchObject({ type: 'webhook_test', state: 'waiting', kickoffId: null })
    expect(message).toBe(`${at}/deliveries/${waiting?.id}?notice=webhook-tested`)
    expect(await (await get(message)).text()).toContain(`msg_${waiting?.messageId}`)
    await post(`${at}/pause`)
    expect(await (await get(at)).text()).toContain('A member paused it.')
    await post(`${at}/resume`)
    expect(await hooks()).toMatchObject([{ pausedAt: null }])
    const secret = await secretOf(await post(`${at}/key`))
    expect(secret).toMatch(/^whsec_/)
    expect(await hooks()).toMatchObject([{ previousKeyUntil: expect.any(Date) }])
    expect((await post(`${at}/delete`)).headers.get('location')).toContain('webhook-deleted')
    expect(await hooks()).toEqual([])
    expect(await platform.sql`select from webhook_messages`).toHaveLength(0)
    expect(await platform.sql`select from webhook_lines`).toHaveLength(0)
  })

  it('show the answer to a test message without a reload', async () => {
    const { sql } = platform
    const webhook = await create()
    const at = `${path}/${webhook.id}`
    const sent = await post(`${at}/test`)
    const [message = ''] = sent.headers.get('location')?.split('?') ?? []
    expect(await (await get(message)).text()).toContain(`data-live="${message}/live"`)
    const live = await get(`${message}/live`)
    const etag = live.headers.get('etag') ?? ''
    const again = () =>
      platform.app.request(`${BASE_URL}${message}/live`, {
        headers: { cookie: ada.cookie, 'if-none-match': etag },
      })
    expect((await again()).status).toBe(304)
    await sql`update webhook_messages set state = 'delivered', ended_at = now()`
    await sql`
      insert into webhook_attempts (message_id, number, status, problem, duration_ms)
      select id, 1, 204, null, 12 from webhook_messages`
    const news = await again()
    expect(news.status).toBe(200)
    expect(await news.text()).toMatch(/data-live="".*Delivered.*HTTP 204/s)
  })

  it('offers a box for each type of event that the platform sends', async () => {
    const page = await (await get(path.replace('/webhooks', '/new-webhook'))).text()
    const list = await (await get(path)).text()
    for (const type of EVENT_TYPES) expect(page + list).toContain(`value="${type}"`)
    expect(EVENT_TYPES).toContain('approval_requested')
  })

  it('show each try of a message, and send it again', async () => {
    const { sql } = platform
    const webhook = await create()
    const { automationId } = platform.acme.research
    const id = await sendTestMessage(sql, { webhookId: webhook.id, automationId })
    await sql`update webhook_messages set state = 'failed', ended_at = now(), tries = 10`
    await sql`delete from webhook_lines`
    await sql`
      insert into webhook_attempts (message_id, number, status, problem, duration_ms)
      values (${id}, 1, null, 'It did not answer within 15000 ms.', 15000),
        (${id}, 2, 502, 'It answered HTTP 502.', 31)`
    const at = `${path}/${webhook.id}`
    expect(await (await get(at)).text()).toContain('It answered HTTP 502.')
    const page = await (await get(`${at}/deliveries/${id}`)).text()
    expect(page).toContain('data-live=""')
    expect(page).toContain('It did not answer within 15000 ms.')
    expect(page).toContain('31 ms')
    expect((await post(`${at}/deliveries/${id}`)).status).toBe(303)
    const again = await (await get(`${at}/deliveries/${id}`)).text()
    expect(again).not.toContain('Send again')
    expect(await sql`select from webhook_lines`).toHaveLength(1)
    await sql`update webhook_messages set state = 'failed', ended_at = now()`
    const all = await post(`${at}/redeliver`)
    expect(all.headers.get('location')).toContain('webhook-redelivered')
    const none = await post(`${at}/redeliver`)
    expect(none.headers.get('location')).toContain('webhook-none-failed')
  })

  it('say why the platform paused one', async () => {
    const webhook = await create()
    await platform.sql`update webhooks set paused_at = now(), pause_reason = 'The receiver <left>.'`
    const page = await (await get(`${path}/${webhook.id}`)).text()
    expect(page).toContain('The receiver &lt;left&gt;.')
    expect(page).toContain('press Resume to send it')
  })

  it('exist for their own organization and automation only, and need a form of ours', async () => {
    const webhook = await create()
    const { automationId } = platform.acme.research
    const id = await sendTestMessage(platform.sql, { webhookId: webhook.id, automationId })
    const rival = await platform.signIn(platform.rival)
    const digest = path.replace(automationId, platform.acme.digest.automationId)
    const rivals = path.replace(automationId, platform.rival.research.automationId)
    const pages = ['', `/deliveries/${id}`]
    const actions = [
      '',
      '/key',
      '/test',
      '/pause',
      '/resume',
      '/redeliver',
      '/delete',
      pages[1] ?? '',
    ]
    for (const page of pages) {
      expect((await get(`${path}/${webhook.id}${page}`)).status).toBe(200)
      expect((await get(`${path}/${webhook.id}${page}`, rival)).status).toBe(404)
      expect((await get(`${rivals}/${webhook.id}${page}`, rival)).status).toBe(404)
      expect((await get(`${digest}/${webhook.id}${page}`)).status).toBe(404)
      const nobody = await platform.app.request(`${BASE_URL}${path}/${webhook.id}${page}`)
      expect(nobody.status).toBe(303)
    }
    for (const action of actions) {
      expect((await post(`${path}/${webhook.id}${action}`, FORM, rival)).status).toBe(404)
      expect((await post(`${digest}/${webhook.id}${action}`, FORM)).status).toBe(404)
      const forged = { ...ada, csrfToken: 'x' }
      expect((await post(`${path}/${webhook.id}${action}`, FORM, forged)).status).toBe(403)
    }
    expect((await post(path, FORM, rival)).status).toBe(404)
    expect((await get(`${path}/${randomUUID()}`)).status).toBe(404)
    expect((await get(`${path}/x`)).status).toBe(404)
    for (const odd of ['x', '0', '99999999999999999999']) {
      expect((await get(`${path}/${webhook.id}/deliveries/${odd}`)).status).toBe(404)
    }
    expect(await hooks()).toMatchObject([
      { id: webhook.id, pausedAt: null, previousKeyUntil: null },
    ])
  })
})

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { listTriggers, TRIGGERS_MAX } from '../../../../services/platform/triggers/triggers.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { deleteExpiredDeliveries } from '../../../../services/platform/triggers/trigger-deliveries.ts'
import { createWebhookKeys } from '../../../../services/platform/webhooks/webhook-keys.ts'
import { resealKeys } from '../../../../services/tasks/reseal-keys.ts'
import { deployAutomation } from '../../../support/platform.ts'
import { standardHeaders, postTo, stripeHeaders } from '../intake/triggers/senders.ts'
import { signInAs } from '../support/every-route.ts'
import { BASE_URL, openPlatform, readObject, SECRET } from '../support/platform.ts'
import type { Platform, SignedInUser } from '../support/platform.ts'

const ENTERED = 'whsec_that_stripe_made_for_the_address'
const FORM = {
  name: 'Paid invoices',
  scheme: 'stripe',
  secret: ENTERED,
  filter: "@.body.type == 'invoice.paid'",
  inputs: '{"topic": "Invoice {{ $.body.data.object.id }}"}',
}
const PAID = JSON.stringify({ id: 'evt_1', type: 'invoice.paid', data: { object: { id: 'in_1' } } })

let platform: Platform
let ada: SignedInUser
let path: string

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
  path = `/automations/${platform.acme.research.automationId}/triggers`
})
beforeEach(async () => {
  await platform.sql`delete from triggers`
  await platform.sql`delete from executions`
})
afterAll(() => platform.close())

type Who = Pick<SignedInUser, 'cookie' | 'csrfToken'>

const get = async (at: string, who: Who = ada) => {
  const response = await platform.app.request(BASE_URL + at, { headers: { cookie: who.cookie } })
  return { status: response.status, text: await response.text() }
}
const post = async (at: string, fields: Record<string, string> = {}, who: Who = ada) => {
  const response = await platform.app.request(BASE_URL + at, {
    method: 'POST',
    headers: { cookie: who.cookie },
    body: new URLSearchParams({ csrf_token: who.csrfToken, ...fields }),
  })
  const { status, headers } = response
  return { status, at: headers.get('location'), text: await response.text() }
}
const triggers = () => listTriggers(platform.sql, platform.acme.research.id)
const runs = () => platform.sql`select id, inputs, trigger, starter_name from executions`

async function create(fields: Record<string, string> = {}) {
  const created = await post(path, { ...FORM, ...fields })
  expect(created.status).toBe(303)
  const trigger = (await triggers()).at(-1)
  if (!trigger) throw new Error('no trigger')
  return { trigger, page: `${path}/${trigger.id}` }
}

const sendPaid = (id: string, body = PAID, secret = ENTERED) =>
  postTo(platform, id, { headers: stripeHeaders(secret, body), body })

async function firstDelivery(page: string): Promise<string> {
  const [, at] = /href="([^"]+\/deliveries\/\d+)"/.exec((await get(page)).text) ?? []
  if (at === undefined) throw new Error('no delivery')
  return at
}

describe('the triggers of an automation', () => {
  it('are created with the secret of the sender, which is sealed and shown nowhere', async () => {
    const { trigger, page } = await create()
    const { text } = await get(page)
    expect(text).toContain(`${BASE_URL}/hooks/${trigger.id}`)
    expect(text).not.toContain(ENTERED)
    const [{ sealedKey }] = await platform.sql<[{ sealedKey: Buffer }]>`
      select sealed_key from triggers`
    expect(sealedKey.includes(ENTERED)).toBe(false)
    expect(JSON.stringify([await platform.audit(), platform.lines])).not.toContain(ENTERED)
    expect((await get(path.replace('/triggers', '/integrate'))).text).toContain(`href="${path}"`)
  })

  it('start a run from an event of Stripe, which both pages show', async () => {
    const { trigger, page } = await create()
    expect((await sendPaid(trigger.id)).status).toBe(202)
    const [run] = await runs()
    expect(run).toMatchObject({ inputs: { topic: 'Invoice in_1' }, starterName: 'Paid invoices' })
    expect((await get(page)).text).toContain('evt_1')
    const delivery = await get(await firstDelivery(page))
    expect(delivery.text).toContain(String(run?.['id']))
    expect(delivery.text).toContain('in_1')
    expect((await get('/executions?trigger=event')).text).toContain('Paid invoices')
  })

  it('have a secret made that is shown once, and may end the former one', async () => {
    const { trigger, page } = await create({ scheme: 'standard_webhooks', secret: '', filter: '' })
    expect((await get(page)).text).toContain('Each is refused until')
    const made = await post(`${page}/secret`)
    const [secret = ''] = /whsec_[\w+/=]+/.exec(made.text) ?? []
    const send = async (with_: string) => {
      const headers = standardHeaders(with_, PAID)
      return (await postTo(platform, trigger.id, { headers, body: PAID })).status
    }
    expect(await send(secret)).toBe(202)
    const [next = ''] = /whsec_[\w+/=]+/.exec((await post(`${page}/secret`)).text) ?? []
    expect([await send(secret), await send(next)]).toEqual([202, 202])
    await post(`${page}/end-former`)
    expect([await send(secret), await send(next)]).toEqual([404, 202])
    expect((await get(page)).text).not.toContain(next)
  })

  it('keep the former secret for a day when another one is entered', async () => {
    const { trigger, page } = await create()
    await post(page, { ...FORM, secret: 'another-secret-of-stripe' })
    expect((await triggers())[0]?.previousSecretUntil).not.toBeNull()
    expect((await sendPaid(trigger.id, PAID, ENTERED)).status).toBe(202)
    const other = PAID.replace('evt_1', 'evt_2')
    expect((await sendPaid(trigger.id, other, 'another-secret-of-stripe')).status).toBe(202)
    await post(page, { ...FORM, secret: 'another-secret-of-stripe', name: 'Renamed again' })
    expect((await sendPaid(trigger.id, PAID, ENTERED)).status).toBe(200)
    await post(page, { ...FORM, secret: '', name: 'Renamed' })
    expect((await sendPaid(trigger.id, PAID, 'another-secret-of-stripe')).status).toBe(200)
  })

  const refused: [Record<string, string>, string][] = [
    [{ name: '' }, 'must not be empty'],
    [{ scheme: 'none' }, 'must be one of standard_webhooks'],
    [{ secret: 'short' }, '16 to 500 visible ASCII characters'],
    [{ header: 'x-signature' }, 'Leave the header empty: Stripe has its own'],
    [{ scheme: 'token', header: 'content-length' }, 'none that each call has'],
    [{ filter: 'a b' }, 'The filter cannot be read'],
    [{ delivery_id: 'id' }, 'The path id cannot be read'],
    [{ inputs: '[]' }, 'must be an object'],
    [{ inputs: '{"topic": "{{ body }}"}' }, 'The path body cannot be read'],
    [{ inputs: `{"topic": "${'x'.repeat(70_000)}"}` }, '65536 characters'],
  ]
  it.each(refused)('refuse %j, and keep what was typed', async (fields, why) => {
    const response = await post(path, { ...FORM, ...fields })
    expect(response.status).toBe(422)
    expect(response.text.replaceAll('&#39;', "'")).toContain(why)
    expect(response.text).not.toContain(ENTERED)
    expect(await triggers()).toEqual([])
  })

  it(`are at most ${TRIGGERS_MAX}, however many are created at once`, async () => {
    const many = Array.from({ length: TRIGGERS_MAX + 3 }, async () => post(path, FORM))
    await Promise.all(many)
    expect(await triggers()).toHaveLength(TRIGGERS_MAX)
  })
})

describe('a mapping that is typed', () => {
  it('is tried on the last deliveries, without being saved or starting a run', async () => {
    const { trigger, page } = await create()
    await sendPaid(trigger.id)
    await sendPaid(trigger.id, PAID.replace('evt_1', 'evt_2').replace('invoice.paid', 'other'))
    const inputs = '{"topic": "Tried {{ $.body.type }}"}'
    const tried = await post(`${page}/test`, { ...FORM, secret: '', inputs })
    expect(tried.status).toBe(200)
    expect(tried.text).toContain('Tried invoice.paid')
    expect(tried.text).toContain('The filter leaves it out.')
    const wrong = await post(`${page}/test`, { ...FORM, secret: '', filter: 'a b' })
    expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('cannot be read')])
    expect(await runs()).toHaveLength(1)
    expect((await triggers())[0]?.inputs).toEqual({
      topic: 'Invoice {{ $.body.data.object.id }}',
    })
  })
})

describe('a delivery', () => {
  it('starts its run again with the mapping of now, whatever the filter says', async () => {
    const { trigger, page } = await create({ filter: '@.body.never' })
    await sendPaid(trigger.id)
    expect(await runs()).toHaveLength(0)
    await post(page, { ...FORM, secret: '', filter: '@.body.never', inputs: '{"topic": "Now"}' })
    const started = await post(await firstDelivery(page))
    const [run] = await runs()
    expect(started).toMatchObject({ status: 303, at: expect.stringContaining(String(run?.['id'])) })
    expect(run).toMatchObject({ inputs: { topic: 'Now' }, trigger: 'console' })
    expect((await sendPaid(trigger.id)).status).toBe(200)
    expect(await runs()).toHaveLength(1)
  })

  it('that cannot start says why', async () => {
    const { trigger, page } = await create({ inputs: '{}' })
    expect((await sendPaid(trigger.id)).status).toBe(422)
    const again = await post(await firstDelivery(page))
    expect([again.status, again.text]).toEqual([422, expect.stringContaining('missing: topic')])
  })

  it('shows what was sent as text', async () => {
    const { trigger, page } = await create({ filter: '' })
    const body = PAID.replace('in_1', '<script>alert(1)</script>').replace('evt_1', '<b>')
    await sendPaid(trigger.id, body)
    const texts = [(await get(page)).text, (await get(await firstDelivery(page))).text]
    for (const text of texts) expect(text).not.toMatch(/<script>alert|<b>/)
  })

  it('is listed by the API, and kept for as long as the manual says', async () => {
    const { sql } = platform
    const { trigger } = await create()
    for (const number of [1, 2, 3])
      await sendPaid(trigger.id, PAID.replace('evt_1', `evt_${number}`))
    const authorization = `Bearer ${await platform.issueToken(platform.acme)}`
    const list = async (query = '') => {
      const at = `${BASE_URL}/designer/v2${path}/${trigger.id}/deliveries${query}`
      return readObject(await platform.app.request(at, { headers: { authorization } }))
    }
    const { deliveries, next_cursor: next } = await list('?limit=2')
    expect(deliveries).toMatchObject([{ delivery_id: 'evt_3' }, { delivery_id: 'evt_2' }])
    const rest = await list(`?limit=2&cursor=${String(next)}`)
    expect(rest).toMatchObject({ deliveries: [{ delivery_id: 'evt_1' }], next_cursor: null })
    await sql`
      update trigger_deliveries set received_at = now() - case delivery_id
        when 'evt_1' then interval '31 days' when 'evt_2' then interval '8 days'
        else interval '6 days' end`
    expect(await deleteExpiredDeliveries(sql)).toBe(3)
    expect(await deleteExpiredDeliveries(sql)).toBe(0)
    expect(
      await sql`select delivery_id, payload is null as empty from trigger_deliveries order by id`,
    ).toEqual([
      { deliveryId: 'evt_2', empty: true },
      { deliveryId: 'evt_3', empty: false },
    ])
  })
})

describe('triggers of others', () => {
  it('are hidden from other organizations, on pages and in the API', async () => {
    const { trigger, page } = await create()
    await sendPaid(trigger.id)
    const delivery = await firstDelivery(page)
    const { rival } = platform
    const eve = await platform.signIn(rival)
    for (const at of [path, page, delivery, `${page}/delete`]) {
      expect((await get(at, eve)).status, at).toBe(404)
    }
    for (const at of [path, page, delivery, `${page}/test`, `${page}/secret`, `${page}/pause`]) {
      expect((await post(at, FORM, eve)).status, at).toBe(404)
    }
    const own = `/automations/${rival.research.automationId}/triggers/${trigger.id}`
    expect((await get(own, eve)).status).toBe(404)
    expect((await post(delivery.replace(path, own), {}, eve)).status).toBe(404)
    const authorization = `Bearer ${await platform.issueToken(rival)}`
    for (const at of [path, page, `${page}/deliveries`, own, `${own}/deliveries`]) {
      const url = `${BASE_URL}/designer/v2${at}`
      const { status } = await platform.app.request(url, { headers: { authorization } })
      expect(status, at).toBe(404)
    }
    expect(await runs()).toHaveLength(1)
  })

  it('are changed by admins alone; editors start runs again, and viewers look', async () => {
    const { trigger, page } = await create()
    await sendPaid(trigger.id)
    const delivery = await firstDelivery(page)
    const vera = await signInAs(platform, 'vera', 'viewer')
    const eddy = await signInAs(platform, 'eddy', 'editor')
    for (const at of [path, page, delivery]) expect((await get(at, vera)).status).toBe(200)
    for (const at of [path, page, `${page}/secret`, `${page}/test`, `${page}/delete`]) {
      expect((await post(at, FORM, vera)).status, at).toBe(403)
      expect((await post(at, FORM, eddy)).status, at).toBe(403)
    }
    expect((await post(delivery, {}, vera)).status).toBe(403)
    expect((await post(delivery, {}, eddy)).status).toBe(303)
  })

  it('are erased with their automation', async () => {
    const { trigger } = await create()
    await sendPaid(trigger.id)
    const { sql } = platform
    const { id } = await deployAutomation(sql, platform.acme.organizationId, {
      slug: 'short-lived',
      name: 'Short-lived',
      project: 'short-lived',
    })
    await sql`update triggers set deployment_id = ${id} where id = ${trigger.id}`
    await sql`delete from deployments where id = ${id}`
    expect(await sql`select from trigger_deliveries`).toHaveLength(0)
  })
})

describe('the secrets of triggers', () => {
  it('are sealed anew with another SECRET_KEY_BASE', async () => {
    const { trigger, page } = await create()
    await post(page, { ...FORM, secret: 'another-secret-of-stripe' })
    const current = 'another-key-base-of-at-least-32-characters'
    const log = createLog({ name: 'test', level: 'silent' })
    await resealKeys(platform.sql, { current, previous: SECRET }, log)
    const [row] = await platform.sql<[{ sealedKey: Buffer; sealedPreviousKey: Buffer }]>`
      select sealed_key, sealed_previous_key from triggers`
    const keys = createWebhookKeys(current)
    expect(keys.open(row.sealedKey, trigger)).toBe('another-secret-of-stripe')
    expect(keys.open(row.sealedPreviousKey, trigger)).toBe(ENTERED)
  })
})

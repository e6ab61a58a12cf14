import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createAlert } from '../../../services/platform/alerts/alerts.ts'
import { lookAtAlerts } from '../../../services/platform/alerts/look-at-alerts.ts'
import {
  createWebhookKeys,
  createWebhookSecret,
} from '../../../services/platform/webhooks/webhook-keys.ts'
import {
  createWebhook,
  findWebhook,
  resumeWebhook,
} from '../../../services/platform/webhooks/webhooks.ts'
import { startWebhookSender } from '../../../services/worker/webhooks/sender.ts'
import { guardFor } from '../../support/outgoing.ts'
import { until } from '../../support/until.ts'
import { useOneAutomation } from '../platform/one-automation.ts'
import { SECRET_KEY_BASE, silent } from './harness.ts'

const platform = useOneAutomation()
const received: { id: string; type: string }[] = []
let isDown = true
const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const { type } = JSON.parse(Buffer.concat(parts).toString()) as { type: string }
    if (!isDown) received.push({ id: String(request.headers['webhook-id']), type })
    response.writeHead(isDown ? 503 : 204).end()
  })
})

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => void server.close())

/** A webhook that is sent alerts of each kind. */
async function hook(url: string) {
  const { sql, automation } = platform
  const place = { id: randomUUID(), deploymentId: automation.id }
  const sealedKey = createWebhookKeys(SECRET_KEY_BASE).seal(createWebhookSecret(), place)
  const eventTypes = ['alert_firing', 'alert_resolved']
  return createWebhook(sql, { ...place, url, eventTypes, format: 'standard', sealedKey })
}

/** Lets an alert fire, be resolved and fire again. */
async function change(): Promise<void> {
  const { sql, automation } = platform
  const { id, organizationId } = automation
  await createAlert(sql, organizationId, {
    name: 'Fails',
    watches: 'failure_share',
    automation: null,
    deploymentId: null,
    windowMinutes: 5,
    filter: '',
    threshold: 50,
    resolvesBelow: null,
    forMinutes: 0,
    minimum: 1,
    mail: [],
  })
  for (const [minute, status] of ['error', 'completed', 'error'].entries()) {
    const at = new Date(Date.UTC(2026, 5, 1, 12, 10 * minute))
    await sql`
      insert into executions (deployment_id, inputs, status, finished_at, output, error)
      values (${id}, '{}', ${status}, ${at}, ${status === 'error' ? null : ''},
        ${status === 'error' ? sql.json({}) : null})`
    expect(await lookAtAlerts(sql, { at })).toBe(1)
  }
}

it('keeps what an alert says while a receiver is down for a day, once and in order', async () => {
  const { sql } = platform
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const webhook = await hook(origin)
  await change()
  const stored = await sql<{ id: string; type: string }[]>`
    select 'msg_' || message_id as id, type from webhook_messages order by webhook_messages.id`
  expect(stored.map(({ type }) => type)).toEqual(['alert_firing', 'alert_resolved', 'alert_firing'])
  const sender = startWebhookSender({
    sql,
    log: silent,
    guard: guardFor(origin),
    secretKeyBase: SECRET_KEY_BASE,
    onAttempt: () => {},
  })
  const waits = async () => {
    const [line] = await sql<{ gap: number }[]>`
      select extract(epoch from due_at - now())::float8 as gap from webhook_lines
      where lease_id is null and due_at > now()`
    return line?.gap
  }
  // The clock goes on to each next try.
  let hours = 0
  for (let tries = 0; tries < 20 && hours < 30; tries += 1) {
    await until(async () => (await waits()) !== undefined || (await isPaused()))
    if (await isPaused()) break
    const gap = (await waits()) ?? 0
    hours += gap / 3600
    await sql`update webhooks set failing_since = failing_since - make_interval(secs => ${gap})`
    await sql`update webhook_lines set due_at = now() - interval '1 second'`
    sender.wake()
  }
  async function isPaused(): Promise<boolean> {
    return (await findWebhook(sql, webhook))?.pausedAt != null
  }
  expect(hours).toBeGreaterThan(20)
  expect((await findWebhook(sql, webhook))?.pauseReason).toContain('Nothing was accepted for 20')
  const states = await sql`select distinct state from webhook_messages`
  expect([...states]).toEqual([{ state: 'waiting' }])
  isDown = false
  await resumeWebhook(sql, webhook)
  sender.wake()
  await until(async () => (await sql`select from webhook_lines`).length === 0)
  await sender.stop(0)
  expect(received).toEqual(stored.map(({ id, type }) => ({ id, type })))
})

import { Hono } from 'hono'
import type { Context } from 'hono'
import type { AuditEntry } from '../../../platform/audit.ts'
import type { Automation } from '../../../platform/automations.ts'
import { findDelivery, redeliver } from '../../../platform/webhook-deliveries.ts'
import type { DeliveryRecord } from '../../../platform/webhook-deliveries.ts'
import { findWebhook } from '../../../platform/webhooks.ts'
import type { Webhook } from '../../../platform/webhooks.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { createAudited } from '../../callers/audited.ts'
import { requireForm } from '../../callers/forms.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { webhooks } from '../../nouns/webhooks.ts'
import { noticeIn } from '../../resources/notices.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { deliveryPage, deliveryParts } from './delivery-page.ts'
import type { DeliveryPage } from './delivery-page.ts'

/** Serves the messages of a webhook: one on its page, and those that are sent again. */
export function deliveryRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const audited = createAudited(sql)
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const path = '/automations/:automationId/webhooks/:webhookId'
  const delivery = `${path}/deliveries/:deliveryId`

  const readPage = async (c: Context<SignedIn>): Promise<DeliveryPage> => {
    const own = await getOwnWebhook(c, sql)
    const found = await getDelivery(c, sql, own.webhook)
    const notice = webhooks.read(noticeIn(c.req.query('notice')))?.text
    return { session: c.var.session, ...own, delivery: found, notice }
  }

  routes.get(delivery, session, async (c) => c.html(deliveryPage(await readPage(c))))

  routes.get(`${delivery}/live`, session, async (c) => {
    const page = await readPage(c)
    const { state, tries } = page.delivery
    const etag = `W/"${state}.${tries.length}"`
    if (c.req.header('if-none-match') === etag) return c.body(null, 304, { etag })
    return c.html(deliveryParts(page), 200, { etag })
  })

  routes.post(delivery, session, form, async (c) => {
    const { webhook, back } = await getOwnWebhook(c, sql)
    const { id } = await getDelivery(c, sql, webhook)
    const entry = { ...entryOf('webhook_message_redelivered', webhook), after: { message: id } }
    await audited(c.var, (tx) => redeliver(tx, webhook.id, { id }), entry)
    return c.redirect(`${back}/deliveries/${id}?notice=webhook-redelivered`, 303)
  })

  routes.post(`${path}/redeliver`, session, form, async (c) => {
    const { webhook, back } = await getOwnWebhook(c, sql)
    const entry = entryOf('webhook_messages_redelivered', webhook)
    const count = await audited(c.var, (tx) => redeliver(tx, webhook.id, 'failed'), entry)
    const notice = count > 0 ? 'webhook-redelivered' : 'webhook-none-failed'
    return c.redirect(`${back}?notice=${notice}`, 303)
  })

  return routes
}

interface OwnWebhook {
  readonly automation: Automation
  readonly webhook: Webhook
  /** The address of its page. */
  readonly back: string
}

/** Returns the webhook of the path with its automation. Raises `not_found`. */
async function getOwnWebhook(c: Context<SignedIn>, sql: Database): Promise<OwnWebhook> {
  const automation = await getOwnAutomation(c, sql)
  const key = { id: c.req.param('webhookId') ?? '', deploymentId: automation.id }
  const webhook = await findWebhook(sql, key)
  if (!webhook) throw new AppError('not_found', 'This automation has no such webhook.')
  const back = `/automations/${automation.automationId}/webhooks/${webhook.id}`
  return { automation, webhook, back }
}

const entryOf = (action: string, { id, url }: Webhook): AuditEntry => ({
  action,
  target: { kind: 'webhook', id, name: new URL(url).origin },
})

async function getDelivery(
  c: Context<SignedIn>,
  sql: Database,
  { id }: Webhook,
): Promise<DeliveryRecord> {
  const key = { webhookId: id, id: c.req.param('deliveryId') ?? '' }
  const found = await findDelivery(sql, key)
  if (found) return found
  throw new AppError('not_found', 'This webhook has no such message, or no longer.')
}

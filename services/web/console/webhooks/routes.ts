import type { Context, Hono } from 'hono'
import type { AuditEntry } from '../../../platform/audit/audit.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import { findDelivery, redeliver } from '../../../platform/webhooks/webhook-deliveries.ts'
import type { DeliveryRecord } from '../../../platform/webhooks/webhook-deliveries.ts'
import { findWebhook } from '../../../platform/webhooks/webhooks.ts'
import type { Webhook } from '../../../platform/webhooks/webhooks.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { createRoom } from '../frame/room.ts'
import { deliveryPage, deliveryParts } from './delivery-page.ts'
import type { DeliveryPage } from './delivery-page.ts'

const PATH = '/automations/:automationId/webhooks/:webhookId'

/** Serves the messages of a webhook: one on its page, and those that are sent again. */
export function deliveryRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const { routes, page, action } = createRoom(deps, {
    'webhook-redelivered': 'The message is sent again, with the id that it had.',
    'webhook-none-failed': 'No message has failed.',
  })
  const delivery = `${PATH}/deliveries/:deliveryId`

  page('viewer', delivery, async (c) => c.html(deliveryPage(await readPage(c, sql))))

  page('viewer', `${delivery}/live`, async (c) => {
    const view = await readPage(c, sql)
    const { state, tries } = view.delivery
    const etag = `W/"${state}.${tries.length}"`
    if (c.req.header('if-none-match') === etag) return c.body(null, 304, { etag })
    return c.html(deliveryParts(view), 200, { etag })
  })

  action('admin', delivery, {
    find: (c) => readPage(c, sql),
    change: (tx, { webhook, delivery: { id } }) => redeliver(tx, webhook.id, { id }),
    entry: ({ webhook, delivery: { id } }) => ({
      ...entryOf('webhook_message_redelivered', webhook),
      after: { message: id },
    }),
    done: ({ back, delivery: { id } }) => [`${back}/deliveries/${id}`, 'webhook-redelivered'],
  })

  action('admin', `${PATH}/redeliver`, {
    find: (c) => getOwnWebhook(c, sql),
    change: (tx, { webhook }) => redeliver(tx, webhook.id, 'failed'),
    entry: ({ webhook }) => entryOf('webhook_messages_redelivered', webhook),
    done: ({ back }, count) => [back, count > 0 ? 'webhook-redelivered' : 'webhook-none-failed'],
  })

  return routes
}

async function readPage(c: Context<SignedIn>, sql: Database): Promise<DeliveryPage> {
  const own = await getOwnWebhook(c, sql)
  const delivery = await getDelivery(c, sql, own.webhook)
  const { notice } = c.var
  return { session: c.var.session, ...own, delivery, notice }
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

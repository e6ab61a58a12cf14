import { Hono } from 'hono'
import { redeliver, sendTestMessage } from '../../../platform/webhook-deliveries.ts'
import { createWebhookSecret } from '../../../platform/webhook-keys.ts'
import type { WebhookKeys } from '../../../platform/webhook-keys.ts'
import {
  deleteWebhook,
  pauseWebhook,
  resumeWebhook,
  rotateWebhookKey,
} from '../../../platform/webhooks.ts'
import { requireForm } from '../../callers/forms.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { webhookKeyPage } from './key-page.ts'
import { audit, getOwnWebhook } from './own-webhook.ts'
import { webhookPath } from './page.ts'

/** Serves the buttons of a webhook's page. */
export function webhookActionRoutes(
  deps: WebDeps,
  { keys }: { readonly keys: WebhookKeys },
): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const path = '/automations/:automationId/webhooks/:webhookId'

  routes.post(`${path}/key`, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const secret = createWebhookSecret()
    await rotateWebhookKey(sql, webhook, keys.seal(secret, webhook))
    audit(c, 'webhook_key_replaced', webhook)
    const page = { session: c.var.session, automation, webhook, secret, isRotated: true }
    return c.html(webhookKeyPage(page))
  })

  routes.post(`${path}/test`, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const { automationId } = automation
    const id = await sendTestMessage(sql, { webhookId: webhook.id, automationId })
    audit(c, 'webhook_tested', webhook)
    const back = `${webhookPath(automation, webhook)}/deliveries/${id}`
    return c.redirect(`${back}?notice=webhook-test-sent`, 303)
  })

  routes.post(`${path}/pause`, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    await pauseWebhook(sql, webhook.id)
    audit(c, 'webhook_paused', webhook)
    return c.redirect(webhookPath(automation, webhook), 303)
  })

  routes.post(`${path}/resume`, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    await resumeWebhook(sql, webhook)
    audit(c, 'webhook_resumed', webhook)
    return c.redirect(`${webhookPath(automation, webhook)}?notice=webhook-resumed`, 303)
  })

  routes.post(`${path}/redeliver`, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const count = await redeliver(sql, webhook.id, 'failed')
    audit(c, 'webhook_messages_redelivered', webhook)
    const notice = count > 0 ? 'webhook-redelivered' : 'webhook-none-failed'
    return c.redirect(`${webhookPath(automation, webhook)}?notice=${notice}`, 303)
  })

  routes.post(`${path}/delete`, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    await deleteWebhook(sql, webhook)
    audit(c, 'webhook_deleted', webhook)
    const list = `/automations/${automation.automationId}/webhooks`
    return c.redirect(`${list}?notice=webhook-deleted`, 303)
  })

  return routes
}

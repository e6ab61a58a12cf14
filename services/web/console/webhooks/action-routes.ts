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
import { createAudited } from '../../callers/audited.ts'
import { requireForm } from '../../callers/forms.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { webhookKeyPage } from './key-page.ts'
import { entryOf, getOwnWebhook } from './own-webhook.ts'
import { webhookPath } from './page.ts'

const PATH = '/automations/:automationId/webhooks/:webhookId'

/** Serves the buttons of a webhook's page. */
export function webhookActionRoutes(
  deps: WebDeps,
  { keys }: { readonly keys: WebhookKeys },
): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const audited = createAudited(sql)
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)

  routes.post(`${PATH}/key`, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const secret = createWebhookSecret()
    await audited(
      c.var,
      (tx) => rotateWebhookKey(tx, webhook, keys.seal(secret, webhook)),
      entryOf('webhook_key_replaced', webhook),
    )
    const page = { session: c.var.session, automation, webhook, secret, isRotated: true }
    return c.html(webhookKeyPage(page))
  })

  routes.post(`${PATH}/pause`, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const entry = entryOf('webhook_paused', webhook)
    await audited(c.var, (tx) => pauseWebhook(tx, webhook.id), entry)
    return c.redirect(`${webhookPath(automation, webhook)}?notice=webhook-paused`, 303)
  })

  routes.post(`${PATH}/resume`, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const entry = entryOf('webhook_resumed', webhook)
    await audited(c.var, (tx) => resumeWebhook(tx, webhook), entry)
    return c.redirect(`${webhookPath(automation, webhook)}?notice=webhook-resumed`, 303)
  })

  routes.post(`${PATH}/delete`, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const entry = entryOf('webhook_deleted', webhook)
    await audited(c.var, (tx) => deleteWebhook(tx, webhook), entry)
    const list = `/automations/${automation.automationId}/webhooks`
    return c.redirect(`${list}?notice=webhook-deleted`, 303)
  })

  routes.route('/', messageRoutes(deps))
  return routes
}

/** Sends a message to try a webhook, and messages again that have failed. */
function messageRoutes(deps: WebDeps): Hono<SignedIn> {
  const routes = new Hono<SignedIn>()
  const { sql, config } = deps
  const audited = createAudited(sql)
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)

  routes.post(`${PATH}/test`, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const { automationId } = automation
    const id = await audited(
      c.var,
      (tx) => sendTestMessage(tx, { webhookId: webhook.id, automationId }),
      entryOf('webhook_tested', webhook),
    )
    const back = `${webhookPath(automation, webhook)}/deliveries/${id}`
    return c.redirect(`${back}?notice=webhook-test-sent`, 303)
  })

  routes.post(`${PATH}/redeliver`, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const entry = entryOf('webhook_messages_redelivered', webhook)
    const count = await audited(c.var, (tx) => redeliver(tx, webhook.id, 'failed'), entry)
    const notice = count > 0 ? 'webhook-redelivered' : 'webhook-none-failed'
    return c.redirect(`${webhookPath(automation, webhook)}?notice=${notice}`, 303)
  })

  return routes
}

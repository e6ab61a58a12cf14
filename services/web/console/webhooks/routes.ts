import { randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import { createWebhookKeys, createWebhookSecret } from '../../../platform/webhook-keys.ts'
import { createWebhook, listWebhooks } from '../../../platform/webhooks.ts'
import { AppError } from '../../../shared/errors.ts'
import { createForwardProxy } from '../../../shared/outgoing/forward-proxy.ts'
import { createWebhookGuard } from '../../../shared/outgoing/webhook-guard.ts'
import { createAudited } from '../../callers/audited.ts'
import { requireForm } from '../../callers/forms.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { noticeOf } from '../frame/notices.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { NEW_WEBHOOK, readWebhookForm, toFields } from './form.ts'
import { webhookKeyPage } from './key-page.ts'
import { webhooksPage } from './list-page.ts'
import { entryOf, factsOf } from './own-webhook.ts'
import { webhookActionRoutes } from './action-routes.ts'
import { webhookPageRoutes } from './page-routes.ts'

/** Serves the webhooks of an automation to the members of its organization. */
export function webhookRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const audited = createAudited(sql)
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const guard = createWebhookGuard(config.WEBHOOK_PRIVATE_ORIGINS, createForwardProxy(config))
  const keys = createWebhookKeys(config.SECRET_KEY_BASE)
  const path = '/automations/:automationId/webhooks'

  routes.get(path, session, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const webhooks = await listWebhooks(sql, automation.id)
    const notice = noticeOf(c.req.query('notice'))
    const page = { session: c.var.session, automation, webhooks, typed: NEW_WEBHOOK, notice }
    return c.html(webhooksPage(page))
  })

  routes.post(path, session, form, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const { typed, problem } = readWebhookForm(c.var.form, guard)
    const refuse = async (why: string) => {
      const webhooks = await listWebhooks(sql, automation.id)
      const page = { session: c.var.session, automation, webhooks, typed, problem: why }
      return c.html(webhooksPage(page), 422)
    }
    if (problem !== undefined) return refuse(problem)
    const key = { id: randomUUID(), deploymentId: automation.id }
    const fields = toFields(typed)
    const secret = createWebhookSecret()
    const sealedKey = keys.seal(secret, key)
    try {
      const entry = entryOf('webhook_created', { ...key, ...fields })
      const after = factsOf(fields)
      const webhook = await audited(
        c.var,
        (tx) => createWebhook(tx, { ...key, ...fields, sealedKey }),
        { ...entry, after },
      )
      const page = { session: c.var.session, automation, webhook, secret, isRotated: false }
      return c.html(webhookKeyPage(page))
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'conflict') return refuse(thrown.message)
      throw thrown
    }
  })

  routes.route('/', webhookPageRoutes(deps, { guard }))
  routes.route('/', webhookActionRoutes(deps, { keys }))
  return routes
}

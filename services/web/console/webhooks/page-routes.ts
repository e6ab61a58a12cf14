import { Hono } from 'hono'
import type { Context } from 'hono'
import {
  findDelivery,
  isDeliveryId,
  listDeliveries,
  redeliver,
} from '../../../platform/webhook-deliveries.ts'
import type { DeliveryRecord } from '../../../platform/webhook-deliveries.ts'
import type { Webhook } from '../../../platform/webhooks.ts'
import { updateWebhook } from '../../../platform/webhooks.ts'
import { AppError } from '../../../shared/errors.ts'
import type { OutgoingGuard } from '../../../shared/outgoing/guard.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { createAudited } from '../../callers/audited.ts'
import { requireForm } from '../../callers/forms.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { readPageRequest } from '../frame/lists/page-request.ts'
import { noticeOf } from '../frame/notices.ts'
import { deliveryPage, deliveryParts } from './delivery-page.ts'
import type { DeliveryPage } from './delivery-page.ts'
import { readWebhookForm, toFields } from './form.ts'
import { entryOf, factsOf, getOwnWebhook } from './own-webhook.ts'
import { webhookPage, webhookPath } from './page.ts'

const PATH = '/automations/:automationId/webhooks/:webhookId'

/** What takes back what a notice says. */
const UNDO: ReadonlyMap<string, string> = new Map([
  ['webhook-paused', 'resume'],
  ['webhook-resumed', 'pause'],
])

/** Serves the page of a webhook with its form, and those of its messages. */
export function webhookPageRoutes(
  deps: WebDeps,
  { guard }: { readonly guard: OutgoingGuard },
): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const audited = createAudited(sql)
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)

  const readPage = async (c: Context<SignedIn>) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const request = readPageRequest(c, isDeliveryId)
    const deliveries = await listDeliveries(sql, webhook.id, request)
    return { session: c.var.session, automation, webhook, deliveries, request }
  }

  routes.get(PATH, session, async (c) => {
    const notice = noticeOf(c.req.query('notice'))
    const undo = UNDO.get(c.req.query('notice') ?? '')
    return c.html(webhookPage({ ...(await readPage(c)), notice, undo }))
  })

  routes.post(PATH, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const { typed, problem } = readWebhookForm(c.var.form, guard)
    if (problem !== undefined) {
      return c.html(webhookPage({ ...(await readPage(c)), typed, problem }), 422)
    }
    const fields = toFields(typed)
    const change = { before: factsOf(webhook), after: factsOf(fields) }
    const entry = { ...entryOf('webhook_changed', webhook), ...change }
    await audited(c.var, (tx) => updateWebhook(tx, webhook, fields), entry)
    return c.redirect(`${webhookPath(automation, webhook)}?notice=webhook-saved`, 303)
  })

  routes.route('/', messagePageRoutes(deps))
  return routes
}

/** Serves the page of a message, the parts of it that change, and its button. */
function messagePageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const audited = createAudited(sql)
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const delivery = `${PATH}/deliveries/:deliveryId`

  const readDelivery = async (c: Context<SignedIn>): Promise<DeliveryPage> => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const found = await getDelivery(c, sql, webhook)
    const notice = noticeOf(c.req.query('notice'))
    return { session: c.var.session, automation, webhook, delivery: found, notice }
  }

  routes.get(delivery, session, async (c) => c.html(deliveryPage(await readDelivery(c))))

  routes.get(`${delivery}/live`, session, async (c) => {
    const page = await readDelivery(c)
    const { state, tries } = page.delivery
    const etag = `W/"${state}.${tries.length}"`
    if (c.req.header('if-none-match') === etag) return c.body(null, 304, { etag })
    return c.html(deliveryParts(page), 200, { etag })
  })

  routes.post(delivery, session, form, async (c) => {
    const { automation, webhook } = await getOwnWebhook(c, sql)
    const { id } = await getDelivery(c, sql, webhook)
    const entry = { ...entryOf('webhook_message_redelivered', webhook), after: { message: id } }
    await audited(c.var, (tx) => redeliver(tx, webhook.id, { id }), entry)
    const back = `${webhookPath(automation, webhook)}/deliveries/${id}`
    return c.redirect(`${back}?notice=webhook-redelivered`, 303)
  })

  return routes
}

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

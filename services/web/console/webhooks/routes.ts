import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import type { AuditEntry } from '../../../platform/audit/audit.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import { findDelivery, redeliver } from '../../../platform/webhooks/webhook-deliveries.ts'
import type {
  DeliveryRecord,
  DeliveryAttempt,
} from '../../../platform/webhooks/webhook-deliveries.ts'
import { findWebhook } from '../../../platform/webhooks/webhooks.ts'
import type { Webhook } from '../../../platform/webhooks/webhooks.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { createRoom } from '../frame/room.ts'
import { duration, pretty } from '../frame/format.ts'
import { page } from '../frame/layout.ts'
import { ago, copyable, csrfField, emptyState, listTable, noticeBox, pill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { deliveryPill } from './deliveries-section.ts'

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

/** A message of a webhook. */
interface DeliveryPage {
  readonly session: Session
  readonly automation: Automation
  readonly webhook: Webhook
  /** The address of the page of the webhook. */
  readonly back: string
  readonly delivery: DeliveryRecord
  readonly notice?: string | undefined
}

/** The page of a message: each time it was sent, and what it says. */
function deliveryPage(view: DeliveryPage): Html {
  const { session, automation, webhook, back, delivery, notice } = view
  return page(
    { title: 'Message', session, current: '/automations' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/automations">Automations</a
        ><a href="/automations/${automation.automationId}">${automation.name}</a
        ><a href="/automations/${automation.automationId}/webhooks">Webhooks</a
        ><a href="${back}">${new URL(webhook.url).host}</a>
      </nav>
      ${noticeBox(notice)} ${deliveryParts(view)}
      <section class="card" aria-labelledby="content">
        <div class="card-head"><h2 id="content">Content</h2></div>
        <dl class="facts">
          <dt>webhook-id</dt>
          <dd class="mono select break">msg_${delivery.messageId}</dd>
        </dl>
        ${copyable('Content', pretty(delivery.payload))}
      </section>`,
  )
}

/** What changes until a message is accepted; the script of the console asks for it again. */
function deliveryParts(view: DeliveryPage): Html {
  const { back, delivery } = view
  const path = `${back}/deliveries/${delivery.id}`
  const isOpen = delivery.state === 'waiting'
  return html`<div data-live="${isOpen ? `${path}/live` : ''}" data-say="Message ${delivery.state}">
    <div class="page-head" data-part="head">
      <h1 class="mono">${delivery.type}</h1>
      ${deliveryPill(delivery.state)}
      ${
        isOpen
          ? html`<a class="button push" href="${path}" data-without-script>Refresh</a>`
          : sendAgain(view, path)
      }
    </div>
    <section class="card flush" aria-labelledby="tries" data-part="tries">
      <div class="card-head"><h2 id="tries">Tries</h2></div>
      ${
        delivery.tries.length > 0
          ? triesTable(delivery.tries)
          : emptyState('pulse', 'Not sent yet', 'A worker sends it in its turn.')
      }
    </section>
  </div>`
}

const sendAgain = ({ session }: DeliveryPage, action: string): Html =>
  html`<form method="post" action="${action}" class="push">
    ${csrfField(session.csrfToken)}<button class="button">Send again</button>
  </form>`

const triesTable = (tries: readonly DeliveryAttempt[]): Html =>
  listTable(
    'Tries',
    ['Try', 'Result', 'Answer', 'Took', 'Time'],
    tries.map(
      ({ number, status, problem, durationMs, triedAt }) =>
        html`<tr>
          <td class="lead">${number}</td>
          <td class="state">
            ${problem === null ? pill('good', 'accepted') : pill('bad', 'not accepted')}
          </td>
          <td data-label="Answer" class="row-wide">${problem ?? `HTTP ${status}`}</td>
          <td data-label="Took">${duration(durationMs)}</td>
          <td data-label="Time" class="quiet wide">${ago(triedAt)}</td>
        </tr>`,
    ),
  )

import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type {
  DeliveryAttempt,
  DeliveryRecord,
} from '../../../platform/webhooks/webhook-deliveries.ts'
import type { Webhook } from '../../../platform/webhooks/webhooks.ts'
import { duration, pretty } from '../frame/format.ts'
import { page } from '../frame/layout.ts'
import {
  copyable,
  csrfField,
  emptyState,
  listTable,
  noticeBox,
  pill,
  time,
} from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { deliveryPill } from './deliveries-section.ts'

/** A message of a webhook. */
export interface DeliveryPage {
  readonly session: Session
  readonly automation: Automation
  readonly webhook: Webhook
  /** The address of the page of the webhook. */
  readonly back: string
  readonly delivery: DeliveryRecord
  readonly notice?: string | undefined
}

/** The page of a message: each time it was sent, and what it says. */
export function deliveryPage(view: DeliveryPage): Html {
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
export function deliveryParts(view: DeliveryPage): Html {
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
          <td data-label="Time" class="quiet wide">${time(triedAt)}</td>
        </tr>`,
    ),
  )

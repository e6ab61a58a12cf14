import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { Delivery, DeliveryState } from '../../../platform/webhooks/webhook-deliveries.ts'
import { runPath } from '../frame/addresses.ts'
import { plural, shortId } from '../frame/format.ts'
import { nothingHere, pager } from '../frame/lists/pager.ts'
import { ago, csrfField, emptyState, listTable, pill } from '../frame/parts.ts'
import type { Html, Tone } from '../frame/parts.ts'

const TONES = {
  waiting: 'waiting',
  delivered: 'good',
  failed: 'bad',
} as const satisfies Record<DeliveryState, Tone>

/** The state of a message, in its colour. */
export const deliveryPill = (state: DeliveryState): Html => pill(TONES[state], state)

/** The webhook whose messages the section shows. */
interface DeliveriesSection {
  readonly session: Session
  readonly automation: Automation
  readonly deliveries: Page<Delivery>
  readonly request: PageRequest
}

/** The messages of a webhook, newest first. */
export function deliveriesSection(view: DeliveriesSection, path: string): Html {
  const { session, deliveries: page, request } = view
  const list = { path, noun: 'message', page, request }
  return html`<section class="card flush" aria-labelledby="deliveries">
      <div class="card-head">
        <h2 id="deliveries">Messages</h2>
        <form method="post" action="${path}/redeliver">
          ${csrfField(session.csrfToken)}
          <button class="button small">Send failed ones again</button>
        </form>
      </div>
      ${
        page.items.length > 0
          ? deliveriesTable(view, path)
          : page.total > 0
            ? nothingHere(list)
            : emptyState('pulse', 'No messages yet', 'Send a test message, or start a run.')
      }
    </section>
    ${pager(list)}`
}

const deliveriesTable = (view: DeliveriesSection, path: string): Html =>
  listTable(
    'Messages',
    ['Event', 'State', 'Answer', 'Run', 'Created'],
    view.deliveries.items.map((each) => deliveryRow(view, each, path)),
  )

const deliveryRow = ({ automation }: DeliveriesSection, delivery: Delivery, path: string): Html =>
  html`<tr>
    <td class="lead">
      <a class="mono" href="${path}/deliveries/${delivery.id}">${delivery.type}</a>
      <span class="sub">${triesOf(delivery)}</span>
    </td>
    <td class="state">${deliveryPill(delivery.state)}</td>
    <td data-label="Answer" class="row-wide">${answerOf(delivery)}</td>
    <td data-label="Run">
      ${
        delivery.kickoffId === null
          ? 'None'
          : html`<a
              class="mono"
              href="${runPath(automation, { id: delivery.kickoffId })}"
              title="${delivery.kickoffId}"
              >${shortId(delivery.kickoffId)}</a
            >`
      }
    </td>
    <td data-label="Created" class="quiet wide">${ago(delivery.createdAt)}</td>
  </tr>`

const triesOf = ({ attempts }: Delivery): string =>
  attempts === 0 ? 'Not sent yet' : `Sent ${plural(attempts, 'time')}`

const answerOf = ({ status, problem, triedAt }: Delivery): string =>
  problem ?? (triedAt ? `HTTP ${status}` : 'None yet')

import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import { listTriggerDeliveries } from '../../../platform/triggers/trigger-deliveries.ts'
import type {
  TriggerDelivery,
  TriggerDeliveryState,
} from '../../../platform/triggers/trigger-deliveries.ts'
import type { Trigger } from '../../../platform/triggers/triggers.ts'
import { isDeliveryId } from '../../../platform/webhooks/webhook-deliveries.ts'
import type { View } from '../../resources/declaration.ts'
import { runPath } from '../frame/addresses.ts'
import { shortId } from '../frame/format.ts'
import { readPageRequest } from '../frame/lists/page-request.ts'
import { nothingHere, pager } from '../frame/lists/pager.ts'
import { emptyState, pill, time } from '../frame/parts.ts'
import type { Html, Tone } from '../frame/parts.ts'

const TONES = {
  started: 'good',
  skipped: 'idle',
  failed: 'bad',
} as const satisfies Record<TriggerDeliveryState, Tone>

/** The state of a delivery, in its colour. */
export const deliveryPill = (state: TriggerDeliveryState): Html => pill(TONES[state], state)

/** The run that a delivery started. */
export const runLink = (automation: Automation, runId: string): Html =>
  html`<a class="mono" href="${runPath(automation, { id: runId })}" title="${runId}"
    >${shortId(runId)}</a
  >`

type Shown = Pick<View<Automation, Trigger>, 'c' | 'sql' | 'owner' | 'row' | 'path'>

/** The deliveries of a trigger, newest first. */
export async function deliveriesSection({ c, sql, owner, row, path }: Shown): Promise<Html> {
  const request = readPageRequest(c, isDeliveryId)
  const page = await listTriggerDeliveries(sql, row.id, request)
  const list = { path, noun: 'event', page, request }
  return html`<section class="card flush" aria-labelledby="deliveries">
      <div class="card-head"><h2 id="deliveries">Deliveries</h2></div>
      ${
        page.items.length > 0
          ? table(page.items, owner, path)
          : page.total > 0
            ? nothingHere(list)
            : emptyState('pulse', 'No deliveries yet', 'What is signed well appears here.')
      }
    </section>
    ${pager(list)}`
}

const table = (items: readonly TriggerDelivery[], owner: Automation, path: string): Html =>
  html`<table class="list">
    <caption class="unseen">
      Deliveries
    </caption>
    <thead>
      <tr>
        <th scope="col">Delivery</th>
        <th scope="col">State</th>
        <th scope="col">Run or reason</th>
        <th scope="col">Received</th>
      </tr>
    </thead>
    <tbody>
      ${items.map(
        ({ id, deliveryId, state, problem, runId, receivedAt }) =>
          html`<tr>
            <td class="lead">
              <a class="mono break" href="${path}/deliveries/${id}">${deliveryId}</a>
            </td>
            <td class="state">${deliveryPill(state)}</td>
            <td data-label="Run or reason" class="row-wide">
              ${problem ?? (runId === null ? '' : runLink(owner, runId))}
            </td>
            <td data-label="Received" class="quiet wide">${time(receivedAt)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`

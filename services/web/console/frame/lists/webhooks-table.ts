import { html } from 'hono/html'
import type { Automation } from '../../../../platform/automations.ts'
import { EVERY_EVENT } from '../../../../platform/webhooks.ts'
import type { Webhook } from '../../../../platform/webhooks.ts'
import { pill, time } from '../parts.ts'
import type { Html } from '../parts.ts'

/** Webhooks, each with a link to its page. */
export const webhooksTable = (automation: Automation, webhooks: readonly Webhook[]): Html =>
  html`<table class="list">
    <caption class="unseen">
      Webhooks
    </caption>
    <thead>
      <tr>
        <th scope="col">Address</th>
        <th scope="col">State</th>
        <th scope="col">Events</th>
        <th scope="col">Created</th>
      </tr>
    </thead>
    <tbody>
      ${webhooks.map(
        (webhook) =>
          html`<tr>
            <td class="lead">
              <a
                class="mono break"
                href="/automations/${automation.automationId}/webhooks/${webhook.id}"
                >${webhook.url}</a
              >
            </td>
            <td class="state">${webhookPill(webhook)}</td>
            <td data-label="Events" class="row-wide quiet">${eventsOf(webhook)}</td>
            <td data-label="Created" class="quiet wide">${time(webhook.createdAt)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`

/** The state of a webhook, in its colour. */
export function webhookPill({ pausedAt, failingSince }: Webhook): Html {
  if (pausedAt) return pill('idle', 'paused')
  return failingSince ? pill('bad', 'failing') : pill('good', 'active')
}

const eventsOf = ({ eventTypes }: Webhook): string =>
  eventTypes.includes(EVERY_EVENT) ? 'Every event' : eventTypes.join(', ')

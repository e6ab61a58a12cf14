import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Webhook } from '../../../platform/webhooks/webhooks.ts'
import { webhookState } from '../../nouns/webhooks.ts'
import { statePill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The automation whose webhooks the section shows. */
interface WebhooksSection {
  readonly automation: Automation
  readonly webhooks: readonly Webhook[]
}

/** The systems that are told of an automation's runs. */
export function webhooksSection({ automation, webhooks }: WebhooksSection): Html {
  const path = `/automations/${automation.automationId}/webhooks`
  return html`<section class="card" aria-labelledby="webhooks">
    <div class="card-head"><h2 id="webhooks">Webhooks</h2></div>
    ${
      webhooks.length > 0
        ? html`<ul class="plan">
            ${webhooks.map(
              (webhook) =>
                html`<li>
                  <a class="mono break" href="${path}/${webhook.id}"
                    >${new URL(webhook.url).host}</a
                  >
                  ${statePill(webhookState(webhook))}
                </li>`,
            )}
          </ul>`
        : html`<p class="hint">Other systems can be told what happens in the runs.</p>`
    }
    <p>
      <a class="button" href="${path}"
        >${webhooks.length > 0 ? 'Manage webhooks' : 'Set up a webhook'}</a
      >
    </p>
  </section>`
}

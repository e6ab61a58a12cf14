import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations.ts'
import type { Session } from '../../../platform/sessions.ts'
import { FORMER_KEY_HOURS } from '../../../platform/webhooks.ts'
import type { Webhook } from '../../../platform/webhooks.ts'
import { page } from '../frame/layout.ts'
import { copyable, warningBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** A key that was just made. */
export interface WebhookKeyPage {
  readonly session: Session
  readonly automation: Automation
  readonly webhook: Webhook
  readonly secret: string
  /** There was another key before. */
  readonly isRotated: boolean
}

/** The only page that shows a key of a webhook. */
export function webhookKeyPage(view: WebhookKeyPage): Html {
  const { session, automation, webhook, secret, isRotated } = view
  const list = `/automations/${automation.automationId}/webhooks`
  return page(
    { title: 'New key', session, current: '/automations' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/automations">Automations</a
        ><a href="/automations/${automation.automationId}">${automation.name}</a
        ><a href="${list}">Webhooks</a>
      </nav>
      <div class="page-head"><h1>The key of your webhook</h1></div>
      <div class="card narrow">
        ${warningBox('Copy the key now. It is not shown again.')}
        <dl class="facts">
          <dt>Address</dt>
          <dd class="mono break">${webhook.url}</dd>
        </dl>
        ${copyable('Key', secret)}
        <p class="hint">
          The receiver checks the signature of each message with it, as Standard Webhooks has it.
          ${
            isRotated
              ? `For ${FORMER_KEY_HOURS} hours messages are signed with the former key as well.`
              : ''
          }
        </p>
        <p><a class="button primary" href="${list}/${webhook.id}">I have copied it</a></p>
      </div>`,
  )
}

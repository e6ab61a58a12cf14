import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations.ts'
import type { Session } from '../../../platform/sessions.ts'
import { WEBHOOKS_MAX } from '../../../platform/webhooks.ts'
import type { Webhook } from '../../../platform/webhooks.ts'
import { plural } from '../frame/format.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { page } from '../frame/layout.ts'
import { webhooksTable } from '../frame/lists/webhooks-table.ts'
import { emptyState, noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { webhookForm } from './fields.ts'
import type { TypedWebhook } from './form.ts'

/** The webhooks of an automation, and the form of a new one. */
export interface WebhooksPage {
  readonly session: Session
  readonly automation: Automation
  readonly webhooks: readonly Webhook[]
  readonly typed: TypedWebhook
  readonly problem?: string | undefined
  readonly notice?: string | undefined
}

/** The webhooks of an automation. */
export function webhooksPage(view: WebhooksPage): Html {
  const { session, automation, webhooks, typed, problem, notice } = view
  const back = `/automations/${automation.automationId}`
  const hint = `${plural(webhooks.length, 'webhook')} of ${automation.name}`
  return page(
    { title: 'Webhooks', session, current: '/automations' },
    html`${automationHead({ automation, tab: 'integrate', title: 'Webhooks', hint })}
      ${noticeBox(notice)}
      <section class="card flush" aria-label="Webhooks">
        ${
          webhooks.length > 0
            ? webhooksTable(automation, webhooks)
            : emptyState(
                'link',
                'No webhooks yet',
                'A webhook notifies another system of what happens in the runs of this automation.',
              )
        }
      </section>
      ${
        webhooks.length < WEBHOOKS_MAX
          ? newSection({ session, back, typed, problem })
          : problemBox(problem)
      }`,
  )
}

interface NewSection extends Pick<WebhooksPage, 'session' | 'typed' | 'problem'> {
  readonly back: string
}

const newSection = ({ session, back, typed, problem }: NewSection): Html =>
  html`<section class="card narrow" aria-labelledby="new">
    <div class="card-head"><h2 id="new">New webhook</h2></div>
    ${problemBox(problem)}
    ${webhookForm({ session, action: `${back}/webhooks`, typed, verb: 'Create' })}
  </section>`

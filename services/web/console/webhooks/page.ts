import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations.ts'
import { FORMER_KEY_HOURS } from '../../../platform/webhooks.ts'
import type { Webhook } from '../../../platform/webhooks.ts'
import { absoluteTime, relativeTime } from '../frame/format.ts'
import { page as frame } from '../frame/layout.ts'
import { webhookPill } from '../frame/lists/webhooks-table.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { doneNotice, finalForm, undoAt } from '../frame/undo.ts'
import { deliveriesSection } from './deliveries-section.ts'
import type { DeliveriesSection } from './deliveries-section.ts'
import { webhookForm } from './fields.ts'
import { toTyped } from './form.ts'
import type { TypedWebhook } from './form.ts'

/** A webhook with its messages. */
export interface WebhookPage extends DeliveriesSection {
  readonly webhook: Webhook
  /** A form that was refused. */
  readonly typed?: TypedWebhook
  readonly problem?: string | undefined
  readonly notice?: string | undefined
  /** The button that takes back what the notice tells. */
  readonly undo?: string | undefined
}

/** Returns the address of the page of a webhook. */
export const webhookPath = ({ automationId }: Automation, { id }: Pick<Webhook, 'id'>): string =>
  `/automations/${automationId}/webhooks/${id}`

/** The page of a webhook: its settings, its key, and what was sent. */
export function webhookPage(view: WebhookPage): Html {
  const { session, automation, webhook, typed, problem, notice } = view
  const back = `/automations/${automation.automationId}`
  const action = webhookPath(automation, webhook)
  return frame(
    { title: 'Webhook', session, current: '/automations' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/automations">Automations</a><a href="${back}">${automation.name}</a
        ><a href="${back}/webhooks">Webhooks</a>
      </nav>
      <div class="page-head">
        <h1 class="break">${new URL(webhook.url).host}</h1>
        ${webhookPill(webhook)}
      </div>
      ${doneNotice(session, notice, undoAt(action, view.undo))} ${problemBox(stateProblem(webhook))}
      <div class="columns side-first">
        <div>${deliveriesSection(view, action)}</div>
        <div>
          <section class="card" aria-labelledby="settings">
            <div class="card-head"><h2 id="settings">Settings</h2></div>
            ${problemBox(problem)}
            ${webhookForm({ session, action, typed: typed ?? toTyped(webhook), verb: 'Save' })}
          </section>
          ${actionsSection(view, action)} ${deleteSection(view, action)}
        </div>
      </div>`,
  )
}

function stateProblem({ pausedAt, pauseReason, failingSince }: Webhook): string | undefined {
  if (pausedAt) {
    const why = pauseReason ?? 'A member paused it.'
    return (
      `Nothing is sent since ${absoluteTime(pausedAt)}. ${why} ` +
      'What happens meanwhile is kept for 30 days; press Resume to send it.'
    )
  }
  if (failingSince) {
    return (
      `No message was accepted since ${absoluteTime(failingSince)}. ` +
      'Each is tried again for a day; the table says what the receiver answered.'
    )
  }
  return undefined
}

function actionsSection({ session, webhook }: WebhookPage, action: string): Html {
  const { previousKeyUntil, pausedAt } = webhook
  const button = (path: string, text: string): Html =>
    html`<form method="post" action="${action}/${path}">
      ${csrfField(session.csrfToken)}<button class="button">${text}</button>
    </form>`
  return html`<section class="card" aria-labelledby="actions">
    <div class="card-head"><h2 id="actions">Try and change</h2></div>
    <div class="buttons">
      ${button('test', 'Send a test message')}
      ${pausedAt ? button('resume', 'Resume') : button('pause', 'Pause')}
      ${button('key', 'Replace the key')}
    </div>
    <p class="hint">
      ${
        previousKeyUntil
          ? `The former key signs as well; it stops ${relativeTime(previousKeyUntil)}.`
          : `A replaced key signs as well for ${FORMER_KEY_HOURS} hours.`
      }
    </p>
  </section>`
}

const deleteSection = ({ session }: WebhookPage, action: string): Html =>
  html`<section class="card" aria-labelledby="delete">
    <div class="card-head"><h2 id="delete">Delete</h2></div>
    <p class="hint">Messages that wait are not sent any more.</p>
    ${finalForm(session, { action: `${action}/delete`, what: 'Delete this webhook' })}
  </section>`

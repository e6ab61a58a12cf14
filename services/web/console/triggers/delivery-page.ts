import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { PAYLOAD_DAYS } from '../../../platform/triggers/trigger-deliveries.ts'
import type { TriggerDeliveryRecord } from '../../../platform/triggers/trigger-deliveries.ts'
import type { Facts } from '../../../platform/triggers/trigger-mapping.ts'
import type { Trigger } from '../../../platform/triggers/triggers.ts'
import { crumbs } from '../frame/confirm-page.ts'
import { pretty } from '../frame/format.ts'
import { page } from '../frame/layout.ts'
import { copyable, csrfField, factList, problemBox, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { deliveryPill, runLink } from './deliveries-section.ts'

/** A delivery of a trigger. */
export interface DeliveryPage {
  readonly session: Session
  readonly automation: Automation
  readonly trigger: Trigger
  /** The address of the page of the trigger. */
  readonly back: string
  readonly delivery: TriggerDeliveryRecord
  /** Why no run was started by hand. */
  readonly wrong?: string | undefined
}

/** The page of a delivery: what it did and why, what was sent, and a button to start again. */
export function deliveryPage(view: DeliveryPage): Html {
  const { session, automation, trigger, back, delivery, wrong } = view
  const { deliveryId, state, problem, runId, receivedAt, headers, payload } = delivery
  const path = `/automations/${automation.automationId}`
  return page(
    { title: 'Delivery', session, current: '/automations' },
    html`${crumbs([
        { path: '/automations', name: 'Automations' },
        { path, name: automation.name },
        { path: `${path}/triggers`, name: 'Triggers' },
        { path: back, name: trigger.name },
      ])}
      <div class="page-head">
        <h1 class="mono break">${deliveryId}</h1>
        ${deliveryPill(state)} ${payload === null ? '' : startAgainButton(view)}
      </div>
      ${problemBox(wrong)}
      <section class="card" aria-label="What it did">
        ${factList('facts', [
          ['Received', time(receivedAt)],
          ['Run', runId === null ? 'None' : runLink(automation, runId)],
          ...(problem === null ? [] : [['Reason', problem] as const]),
        ])}
      </section>
      ${
        payload === null
          ? html`<p class="hint">
              Its content could not be read, or was received more than ${PAYLOAD_DAYS} days ago.
            </p>`
          : html`${contentSection('headers', headers)} ${contentSection('body', payload)}`
      }`,
  )
}

/** What was sent, by its name in filters and paths. */
const contentSection = (name: keyof Facts, content: unknown): Html =>
  html`<section class="card" aria-labelledby="${name}">
    <div class="card-head"><h2 id="${name}" class="mono">$.${name}</h2></div>
    ${copyable(name, pretty(content))}
  </section>`

const startAgainButton = ({ session, back, delivery }: DeliveryPage): Html =>
  html`<form method="post" action="${back}/deliveries/${delivery.id}" class="push">
    ${csrfField(session.csrfToken)}<button class="button">
      ${delivery.runId === null ? 'Start a run' : 'Start again'}
    </button>
  </form>`

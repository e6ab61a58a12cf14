import { html } from 'hono/html'
import type { AutomationActivity } from '../../platform/activity.ts'
import type { Session } from '../../platform/sessions.ts'
import { count, plural } from './format.ts'
import { page } from './layout.ts'
import { deploymentPill, emptyState, executionPill, time } from './parts.ts'
import type { Html } from './parts.ts'

export interface AutomationsPage {
  readonly session: Session
  readonly automations: readonly AutomationActivity[]
}

export function automationsPage({ session, automations }: AutomationsPage): Html {
  return page(
    { title: 'Automations', session, current: '/automations' },
    html`<div class="page-head">
        <div>
          <h1>Automations</h1>
          <p class="hint">${plural(automations.length, 'automation')} of ${session.organization}</p>
        </div>
      </div>
      <section class="card flush" aria-label="Automations">
        ${automationsTable(automations)}
      </section>`,
  )
}

/** Automations, each with its status and what it did of late. */
export function automationsTable(automations: readonly AutomationActivity[]): Html {
  if (automations.length === 0) {
    return emptyState(
      'automations',
      'No automations yet',
      'An automation appears here when a crew of your organization is deployed.',
    )
  }
  return html`<table class="list">
    <caption class="unseen">
      Automations
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Status</th>
        <th scope="col">Last execution</th>
        <th scope="col" class="number">Last 7 days</th>
      </tr>
    </thead>
    <tbody>
      ${automations.map(automationRow)}
    </tbody>
  </table>`
}

function automationRow(automation: AutomationActivity): Html {
  const { automationId, name, slug, status, lastStatus, lastQueuedAt, executionsLastWeek } =
    automation
  return html`<tr>
    <td class="lead">
      <a href="/automations/${automationId}">${name}</a>
      <span class="sub mono">${slug}</span>
    </td>
    <td class="state">${deploymentPill(status)}</td>
    <td data-label="Last execution" class="wide">
      ${
        lastStatus && lastQueuedAt
          ? html`<span class="pair"
              >${executionPill(lastStatus)} <span class="quiet">${time(lastQueuedAt)}</span></span
            >`
          : html`<span class="quiet">Never</span>`
      }
    </td>
    <td data-label="Last 7 days" class="number">${count(executionsLastWeek)}</td>
  </tr>`
}

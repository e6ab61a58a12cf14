import { html } from 'hono/html'
import type { AutomationActivity } from '../../../../platform/runs/activity.ts'
import { count } from '../format.ts'
import { ago, automationPill, runPill } from '../parts.ts'
import type { Html } from '../parts.ts'

/** Automations, each with its status and its last run. */
export function automationsTable(automations: readonly AutomationActivity[]): Html {
  return html`<table class="list">
    <caption class="unseen">
      Automations
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Status</th>
        <th scope="col">Last run</th>
        <th scope="col" class="number">Last 7 days</th>
      </tr>
    </thead>
    <tbody>
      ${automations.map(automationRow)}
    </tbody>
  </table>`
}

function automationRow(automation: AutomationActivity): Html {
  const { automationId, name, slug, status, lastStatus, lastQueuedAt, runsLastWeek } = automation
  return html`<tr>
    <td class="lead">
      <a href="/automations/${automationId}">${name}</a>
      <span class="sub mono">${slug}</span>
    </td>
    <td class="state">${automationPill(status)}</td>
    <td data-label="Last run" class="wide">
      ${
        lastStatus && lastQueuedAt
          ? html`<span class="pair"
              >${runPill(lastStatus)} <span class="quiet">${ago(lastQueuedAt)}</span></span
            >`
          : html`<span class="quiet">Never</span>`
      }
    </td>
    <td data-label="Last 7 days" class="number">${count(runsLastWeek)}</td>
  </tr>`
}

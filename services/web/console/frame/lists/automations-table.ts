import { html } from 'hono/html'
import type { AutomationActivity } from '../../../../platform/runs/activity.ts'
import { count } from '../format.ts'
import { ago, automationPill, listTable, runPill } from '../parts.ts'
import type { Html } from '../parts.ts'

/** Automations, each with its status and its last run. */
export function automationsTable(automations: readonly AutomationActivity[]): Html {
  return html`<div class="dense">
    ${listTable(
      'Automations',
      ['Name', 'Status', 'Last run', ['number', 'Last 7 days']],
      automations.map(automationRow),
    )}
  </div>`
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

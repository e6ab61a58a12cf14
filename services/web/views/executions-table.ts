import { html } from 'hono/html'
import type { Execution } from '../../platform/executions.ts'
import { executionPill, ranFor, time, tokensOf } from './parts.ts'
import type { Html } from './parts.ts'

type Row = Execution & { readonly automationId: string; readonly automationName?: string }

/** Runs, newest first; with the automation's name where the rows have one. */
export function executionsTable(label: string, rows: readonly Row[]): Html {
  const named = rows.some(({ automationName }) => automationName !== undefined)
  return html`<table class="list">
    <caption class="unseen">
      ${label}
    </caption>
    <thead>
      <tr>
        <th scope="col">Execution</th>
        ${named ? html`<th scope="col">Automation</th>` : ''}
        <th scope="col">Status</th>
        <th scope="col">Queued</th>
        <th scope="col" class="number">Duration</th>
        <th scope="col" class="number">Tokens</th>
        <th scope="col" class="number">Attempt</th>
      </tr>
    </thead>
    <tbody>
      ${rows.map((row) => executionRow(row, named))}
    </tbody>
  </table>`
}

function executionRow(row: Row, named: boolean): Html {
  const { id, automationId, automationName, status, queuedAt, attempt } = row
  return html`<tr>
    <td class="lead">
      <a class="mono" href="/automations/${automationId}/executions/${id}" title="${id}"
        >${id.slice(0, 8)}</a
      >
    </td>
    ${
      named
        ? html`<td class="row-wide">
            <a href="/automations/${automationId}">${automationName}</a>
          </td>`
        : ''
    }
    <td class="state">${executionPill(status)}</td>
    <td data-label="Queued" class="quiet">${time(queuedAt)}</td>
    <td data-label="Duration" class="number">${ranFor(row)}</td>
    <td data-label="Tokens" class="number">${tokensOf(row)}</td>
    <td data-label="Attempt" class="number minor">${attempt || '–'}</td>
  </tr>`
}

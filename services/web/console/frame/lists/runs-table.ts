import { html } from 'hono/html'
import type { ListedRun } from '../../../../platform/run-list.ts'
import { runPill, ranFor, starterOf, time, tokensOf } from '../parts.ts'
import type { Html } from '../parts.ts'
import { shortId } from '../format.ts'

type Row = Omit<ListedRun, 'automationName' | 'trigger' | 'starterName'> & {
  readonly trigger?: ListedRun['trigger']
  readonly starterName?: string | null
  readonly automationName?: string | undefined
}

interface Columns {
  readonly named: boolean
  readonly attempts: boolean
  readonly started: boolean
}

/**
 * Runs in the order given; with the automation's name where the rows have one, and with the attempt
 * where a run had several.
 */
export function runsTable(label: string, rows: readonly Row[]): Html {
  const columns = {
    named: rows.some(({ automationName }) => automationName !== undefined),
    attempts: rows.some(({ attempt }) => attempt > 1),
    started: rows.some(({ trigger }) => trigger),
  }
  return html`<table class="list">
    <caption class="unseen">
      ${label}
    </caption>
    <thead>
      <tr>
        <th scope="col">Run</th>
        ${columns.named ? html`<th scope="col">Automation</th>` : ''}
        <th scope="col">Status</th>
        <th scope="col">Queued</th>
        ${columns.started ? html`<th scope="col">Started by</th>` : ''}
        <th scope="col" class="number">Duration</th>
        <th scope="col" class="number">Tokens</th>
        ${columns.attempts ? html`<th scope="col" class="number">Attempt</th>` : ''}
      </tr>
    </thead>
    <tbody>
      ${rows.map((row) => runRow(row, columns))}
    </tbody>
  </table>`
}

function runRow(row: Row, { named, attempts, started }: Columns): Html {
  const { id, automationId, automationName, status, queuedAt, attempt } = row
  return html`<tr>
    <td class="lead">
      <a class="mono" href="/automations/${automationId}/executions/${id}" title="${id}"
        >${shortId(id)}</a
      >
    </td>
    ${
      named
        ? html`<td class="row-wide">
            <a href="/automations/${automationId}">${automationName}</a>
          </td>`
        : ''
    }
    <td class="state">${runPill(status)}</td>
    <td data-label="Queued" class="quiet">${time(queuedAt)}</td>
    ${started ? html`<td data-label="Started by">${starterOf(row)}</td>` : ''}
    <td data-label="Duration" class="number">${ranFor(row)}</td>
    <td data-label="Tokens" class="number">${tokensOf(row)}</td>
    ${attempts ? html`<td data-label="Attempt" class="number">${attempt || '–'}</td>` : ''}
  </tr>`
}

import { html } from 'hono/html'
import { listAlertChanges } from '../../../platform/alerts/alerts.ts'
import type { Alert, AlertChange, AlertExample } from '../../../platform/alerts/alerts.ts'
import { withUnit } from '../../../platform/alerts/watches.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { examplePath } from '../frame/addresses.ts'
import { shortId } from '../frame/format.ts'
import { ago, emptyState, pill, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The last changes of the state of an alert, each with its worst runs or traces. */
export async function changesSection({
  sql,
  row,
}: {
  readonly sql: Database
  readonly row: Alert
}): Promise<Html> {
  const changes = await listAlertChanges(sql, row)
  const looked = row.lookedAt ? html`<span class="hint">Looked at ${time(row.lookedAt)}</span>` : ''
  return html`<section class="card flush" aria-labelledby="changes">
    <div class="card-head">
      <h2 id="changes">Changes of state</h2>
      ${looked}
    </div>
    ${
      changes.length > 0
        ? table(changes)
        : emptyState('pulse', 'No change yet', 'When it fires or is resolved, it says so here.')
    }
  </section>`
}

const table = (changes: readonly AlertChange[]): Html =>
  html`<table class="list">
    <caption class="unseen">
      Changes of state
    </caption>
    <thead>
      <tr>
        <th scope="col">State</th>
        <th scope="col">Value</th>
        <th scope="col">Worst</th>
        <th scope="col">When</th>
      </tr>
    </thead>
    <tbody>
      ${changes.map(
        ({ state, watches, value, threshold, runs, at }) =>
          html`<tr>
            <td>${state === 'firing' ? pill('bad', 'firing') : pill('good', 'resolved')}</td>
            <td>
              ${withUnit(watches, value)}
              <span class="sub">fires at ${withUnit(watches, threshold)}</span>
            </td>
            <td>${runs.length > 0 ? runs.map(exampleLink) : '–'}</td>
            <td>${ago(at)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`

/** Of one that may be deleted meanwhile. */
function exampleLink(example: AlertExample): Html {
  const id = example.kickoff_id ?? example.trace_id
  return html`<a class="mono" href="${examplePath(example)}" title="${id}">${shortId(id)}</a> `
}

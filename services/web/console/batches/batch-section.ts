import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import { listFailedRows } from '../../../platform/batches/batch-results.ts'
import type { RowResult } from '../../../platform/batches/batch-results.ts'
import type { Batch } from '../../../platform/batches/batches.ts'
import { forecastWaiting } from '../../../platform/batches/forecast.ts'
import type { Estimate, Forecast } from '../../../platform/batches/forecast.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { runPath } from '../frame/addresses.ts'
import { dollars } from '../frame/amounts.ts'
import { count, duration, plural, shortId } from '../frame/format.ts'
import { listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'

const FAILED_SHOWN = 20

interface BatchView {
  readonly sql: Database
  readonly owner: Automation
  readonly row: Batch
  /** The address of its page. */
  readonly path: string
}

/** What a batch will take before it is started; what became of its rows then. */
export async function batchSection({ sql, owner, row, path }: BatchView): Promise<Html> {
  if (row.isPaused && row.waiting === row.rows) {
    return forecastSection(await forecastWaiting(sql, row))
  }
  const failed = row.failed > 0 ? await listFailedRows(sql, row.id, FAILED_SHOWN) : []
  return html`<section class="card" aria-labelledby="results">
      <div class="card-head"><h2 id="results">Results</h2></div>
      <p class="hint">Each row with what became of it, also of those that are not done.</p>
      ${row.waitsFor ? html`<p class="hint">Rows wait: ${row.waitsFor}</p>` : ''}
      <div class="buttons">
        <a class="button" href="${path}/results?format=csv">CSV</a>
        <a class="button" href="${path}/results?format=jsonl">JSONL</a>
        <a class="button" href="${path}">Refresh</a>
      </div>
    </section>
    ${failed.length > 0 ? failedSection(owner, row, failed) : ''}`
}

const failedSection = (owner: Automation, batch: Batch, rows: readonly RowResult[]): Html =>
  html`<section class="card flush" aria-labelledby="failed">
    <div class="card-head">
      <h2 id="failed">Failed rows</h2>
      <span class="hint">the first ${count(rows.length)} of ${count(batch.failed)}</span>
    </div>
    ${listTable(
      'Failed rows',
      ['Row', 'Run', 'Why'],
      rows.map(
        ({ row, key, runId, error }) =>
          html`<tr>
            <td class="lead">
              ${count(row)}
              ${key === String(row) ? '' : html`<span class="sub">${visibleText(key)}</span>`}
            </td>
            <td data-label="Run">${runId && runLink(owner, runId)}</td>
            <td data-label="Why" class="row-wide break">${visibleText(error?.message ?? '–')}</td>
          </tr>`,
      ),
    )}
  </section>`

const runLink = (owner: Automation, id: string): Html =>
  html`<a class="mono" href="${runPath(owner, { id })}">${shortId(id)}</a>`

function forecastSection({ rows, runs, tokens, cost, time, ...of }: Forecast): Html {
  const whole = (value: number): string => count(Math.round(value))
  const row = (title: string, estimate: Estimate | null, say: (value: number) => string) =>
    html`<tr>
      <td class="lead">${title}</td>
      ${(['runP50', 'runP95', 'totalP50', 'totalP95'] as const).map(
        (name, index) =>
          html`<td data-label="${HEADS[index]}">${estimate ? say(estimate[name]) : 'unknown'}</td>`,
      )}
    </tr>`
  return html`<section class="card flush" aria-labelledby="forecast">
    <div class="card-head">
      <h2 id="forecast">Forecast</h2>
      <span class="hint"
        >from the last ${plural(runs, 'run')} of
        ${of.isByVersion ? 'this version' : 'this version and former ones with its models'}${
          of.isBySize ? ', with inputs of such a size' : ''
        }</span
      >
    </div>
    ${listTable(
      'Forecast',
      [['unseen', 'What'], ...HEADS],
      [
        row('Tokens', tokens, whole),
        row('Cost', cost, dollars),
        row('Time of runs', time, duration),
      ],
    )}
    <p class="hint">
      ${plural(rows, 'row')} ${rows === 1 ? 'waits' : 'wait'}. The time is that of all runs one
      after the other. ${tokens ? '' : 'Too few runs have ended to know more.'}
      ${tokens && !cost ? html`A model of them has no price: <a href="/prices">enter one</a>.` : ''}
    </p>
  </section>`
}

const HEADS = ['A run, median', 'A run, 95 %', 'All, median', 'All, 95 %'] as const

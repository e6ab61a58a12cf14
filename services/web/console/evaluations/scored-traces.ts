import { html } from 'hono/html'
import type { TraceScore } from '../../../platform/evaluations/trace-scores.ts'
import { ago, listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'

/** The traces that failed a check last; nothing where none did. */
export const scoredTraces = (scores: readonly TraceScore[]): Html | string =>
  scores.length === 0
    ? ''
    : html`<section class="card flush" aria-labelledby="failed">
        <div class="card-head"><h2 id="failed">Traces that failed last</h2></div>
        ${listTable('Traces', ['Trace', 'Why', 'Scored'], scores.map(scoreRow))}
      </section>`

const scoreRow = ({ traceId, findings, scoredAt }: TraceScore): Html => {
  const failed = findings.find(({ state }) => state === 'failed')
  return html`<tr>
    <td class="lead">
      <a class="mono" href="/traces/${traceId}">${traceId.slice(0, 8)}</a>
    </td>
    <td data-label="Why" class="row-wide break">
      ${failed ? html`<span class="mono">${failed.type}</span> ` : ''}
      ${visibleText(failed?.reason ?? '')}
    </td>
    <td data-label="Scored" class="quiet">${ago(scoredAt)}</td>
  </tr>`
}

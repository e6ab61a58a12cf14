import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { ListedTrace } from '../../../shared/trace-answers/lists.ts'
import { duration, shortId } from '../frame/format.ts'
import { page } from '../frame/layout.ts'
import { ago, listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import type { ComparedTrace } from './comparison-page.ts'
import { nameOf, tracePill } from './traces-table.ts'

/** The choice of a trace to compare with; `before` is absent while none is chosen. */
interface ChooseTracePage {
  readonly session: Session
  readonly before: ComparedTrace | undefined
  readonly traces: readonly ListedTrace[]
  /** What was entered, when there is no such trace. */
  readonly wrong: string | undefined
}

/** Offers the latest traces, and a field for the id of any other. */
export function chooseTracePage({ session, before, traces, wrong }: ChooseTracePage): Html {
  const first = before?.skeleton.traceId
  const name = visibleText(before?.tree.rows[0]?.span.name ?? '') || 'a trace'
  const others = traces.filter(({ trace_id: id }) => id !== first)
  return page(
    { title: 'Compare traces', session, current: '/traces' },
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/traces">Traces</a></nav>
      <div class="page-head"><h1>Compare ${first === undefined ? 'traces' : name}</h1></div>
      <form class="card" action="/trace-comparison">
        <div class="row">
          ${
            first === undefined
              ? idField('First trace id', undefined)
              : html`<input type="hidden" name="trace" value="${first}" />`
          }
          ${idField(first === undefined ? 'Second trace id' : 'Trace id to compare with', wrong)}
          <button class="button primary">Compare</button>
        </div>
      </form>
      ${first === undefined || others.length === 0 ? '' : latest(first, others)}`,
  )
}

function idField(label: string, wrong: string | undefined): Html {
  const id = label.startsWith('First') ? 'first-trace' : 'second-trace'
  return html`<div class="grow">
    <label for="${id}">${label}</label>
    <input
      id="${id}"
      name="trace"
      class="mono"
      required
      maxlength="36"
      autocomplete="off"
      value="${(wrong ?? '').slice(0, 36)}"
      ${wrong === undefined ? '' : html`aria-invalid="true" aria-describedby="${id}-problem"`}
    />
    ${
      wrong === undefined
        ? ''
        : html`<p class="field-problem" id="${id}-problem" role="alert">
            Your organization has no trace with this id. A trace id has 32 hexadecimal digits.
          </p>`
    }
  </div>`
}

const latest = (first: string, traces: readonly ListedTrace[]): Html =>
  html`<section class="card flush" aria-label="Latest traces">
    ${listTable(
      'Latest traces',
      ['Compare with', 'Status', 'Start', ['number', 'Duration']],
      traces.map(
        (trace) =>
          html`<tr>
            <td class="lead">
              <a href="/trace-comparison?trace=${first}&trace=${trace.trace_id}"
                >${nameOf(trace)}</a
              >
              <span class="sub mono">${shortId(trace.trace_id)}</span>
            </td>
            <td class="state">${tracePill(trace.status)}</td>
            <td data-label="Start" class="quiet">${ago(new Date(trace.started_at))}</td>
            <td data-label="Duration" class="number">
              ${trace.duration_ms === null ? '–' : duration(trace.duration_ms)}
            </td>
          </tr>`,
      ),
    )}
  </section>`

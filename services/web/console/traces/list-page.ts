import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { TraceOpinions } from '../../../platform/traces/trace-notes.ts'
import type { TraceFilter } from '../../../platform/traces/trace-filters.ts'
import type { TraceHistogram, TracePage, TraceTotals } from '../../../shared/trace-answers/lists.ts'
import { count, duration, plural } from '../frame/format.ts'
import { icon } from '../frame/icons.ts'
import { kindSprite } from '../frame/kinds.ts'
import { page } from '../frame/layout.ts'
import { emptyState, problemBox, factList } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { dollars } from '../frame/amounts.ts'
import { doneNotice } from '../frame/undo.ts'
import type { Undo } from '../frame/undo.ts'
import { filterForm } from './filter-form.ts'
import type { Problem } from './filter-form.ts'
import { listAddress, WINDOWS, withFilter } from './list-query.ts'
import type { ListQuery } from './list-query.ts'
import { savedFilters } from './saved-filters.ts'
import { traceHistogram } from './trace-histogram.ts'
import { traceTabs } from '../frame/trace-tabs.ts'
import { COMPARE_FORM, tracesTable } from './traces-table.ts'

/** An automation that a list can be limited to. */
export interface AutomationName {
  readonly automationId: string
  readonly name: string
}

/** What the collector found. */
export interface FoundTraces {
  readonly traces: TracePage
  readonly histogram: TraceHistogram
  readonly totals: TraceTotals
}

/** A page of traces; without `found` its filter has a problem. */
interface TraceListPage {
  readonly session: Session
  readonly query: ListQuery
  readonly automations: readonly AutomationName[]
  readonly found: FoundTraces | undefined
  readonly problem: Problem | undefined
  readonly filters: readonly TraceFilter[]
  readonly notice: string | undefined
  /** The name of the filter that was just deleted. */
  readonly deleted: string | undefined
  /** What people say of the traces, by their ids. */
  readonly opinions: ReadonlyMap<string, TraceOpinions>
  /** The ids of traces whose runs wait for a person, or for a budget. */
  readonly waiting: ReadonlySet<string>
}

/** All traces of an organization, by filter and by page. */
export function traceListPage(view: TraceListPage): Html {
  const { session, query, automations, found, problem, filters, notice } = view
  return page(
    { title: 'Traces', session, current: '/traces', script: 'tracesScript' },
    html`<div class="page-head with-views">
        <h1>Traces</h1>
        ${traceTabs('/traces')}
      </div>
      ${kindSprite()} ${doneNotice(session, notice, undoOf(view))}
      ${filterForm({ query, automations, problem })}
      ${problem && problem.field === undefined ? problemBox(problem.message) : ''}
      ${found ? results(view, found) : savedFilters({ session, query, filters })}`,
  )
}

/** Keeps a filter again that was deleted; the list shows what it finds. */
function undoOf({ deleted, query }: TraceListPage): Undo | undefined {
  if (deleted === undefined) return undefined
  const fields = { name: deleted, query: listAddress(query).slice('/traces?'.length) }
  return { action: '/trace-filters', fields }
}

function results(view: TraceListPage, { traces, histogram, totals }: FoundTraces): Html {
  const { query } = view
  const rows = traces.traces
  // What comes while a later page is read belongs to the first one.
  const live = query.cursor === undefined ? '/trace-events' : ''
  return html`<div data-traces data-live-from="${live}">
    <div class="overview">
      <div data-part="sums">${sums(totals)}</div>
      <div data-part="histogram">
        ${
          histogram.buckets.length > 0
            ? html`<section class="card" aria-label="Traces by time">
                ${traceHistogram(histogram, timesOf(query))}
              </section>`
            : ''
        }
      </div>
    </div>
    <div class="list-tools">${savedFilters(view)} ${actions(query, rows.length)}</div>
    <div data-part="rows">
      <section class="card flush" aria-label="Traces">
        ${rows.length > 0 ? tracesTable(rows, view) : noRows(query)}
      </section>
      ${next(query, traces)}
    </div>
  </div>`
}

/** What can be done with the list; the script adds a button that follows it. */
function actions(query: ListQuery, rows: number): Html {
  return html`<form class="list-actions" id="${COMPARE_FORM}" action="/trace-comparison">
    <span class="live-place"></span>
    <a class="button small" href="${listAddress(query)}" data-without-script>Refresh</a>
    ${rows > 1 ? html`<button class="button small">Compare two</button>` : ''}
    ${
      rows > 0
        ? html`<a class="button small push" href="${withFilter('/trace-export', query)}"
            >${icon('download')}<span>Export</span></a
          >`
        : ''
    }
  </form>`
}

function timesOf({ window }: ListQuery): { fromMs: number; untilMs: number } {
  const untilMs = Date.now()
  return { fromMs: untilMs - WINDOWS[window].ms, untilMs }
}

function sums({
  traces,
  error,
  llm_calls: calls,
  tokens,
  cost_usd: cost,
  duration_ms,
}: TraceTotals): Html {
  const facts = [
    [
      'Traces',
      html`${count(traces)} ${error > 0 ? html`<small>${count(error)} failed</small>` : ''}`,
    ],
    ['Median duration', duration_ms.p50 === null ? '–' : duration(duration_ms.p50)],
    ['Model calls', count(calls)],
    ['Tokens', count(tokens.input + tokens.output)],
    ['Cost', cost === null ? '–' : dollars(cost)],
  ] as const
  return factList('statistics five', facts)
}

function noRows({ fields, status, noted }: ListQuery): Html {
  const isFiltered = (status ?? noted) !== undefined || Object.keys(fields).length > 0
  if (isFiltered) {
    return emptyState('search', 'No traces found', html`<a href="/traces">Show all traces</a>`)
  }
  return emptyState(
    'pulse',
    'No traces yet',
    html`Runs of <a href="/automations">automations</a> appear here by themselves. Choose a longer
      time, or <a href="/send-traces">send traces</a> of your own programs.`,
  )
}

/** Pages follow each other; the address of the first one is the list's. */
function next(query: ListQuery, { traces, next_cursor: cursor }: TracePage): Html | string {
  if (cursor === null && query.cursor === undefined) return ''
  return html`<nav class="pager" aria-label="Pages">
    <span class="hint">${plural(traces.length, 'trace')} on this page</span>
    ${
      query.cursor === undefined
        ? ''
        : html`<a class="button" href="${listAddress(query)}"
            >${icon('back')}<span>First page</span></a
          >`
    }
    ${
      cursor === null
        ? ''
        : html`<a class="button" rel="next" href="${listAddress(query, { cursor })}"
            ><span>Next</span>${icon('chevron')}</a
          >`
    }
  </nav>`
}

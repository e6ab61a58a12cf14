import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import { sumOf } from '../../../platform/runs/run-list.ts'
import type { ListedRun, RunCounts } from '../../../platform/runs/run-list.ts'
import { RUN_KEYS } from '../../../platform/runs/run-terms.ts'
import type { FoundRuns } from '../../../platform/runs/search-runs.ts'
import { RUN_STATUSES, TRIGGERS } from '../../../platform/runs/runs.ts'
import type { RunStatus } from '../../../platform/runs/runs.ts'
import type { RunFilterEntry } from '../../../platform/runs/run-filters.ts'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { runsTable } from '../frame/lists/runs-table.ts'
import { absoluteTime, count, plural } from '../frame/format.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { page as frame } from '../frame/layout.ts'
import { filterBar } from '../frame/lists/filter-bar.ts'
import { countLine, isEmpty, nothingHere, pager, queryOf, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { emptyState, statusName, triggerName } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { doneNotice } from '../frame/undo.ts'
import type { Undo } from '../frame/undo.ts'
import { parametersOf, typedOf } from './list-query.ts'
import type { RunsQuery } from './list-query.ts'
import { columnChoice, savedFilters } from './saved-filters.ts'

/** One page of the list of runs, or what a search for a text found. */
export interface RunsPage {
  readonly session: Session
  /** Set: only the runs of this one. */
  readonly automation?: Automation
  readonly query: RunsQuery
  /** Those that are kept; of all runs only. */
  readonly filters: readonly RunFilterEntry[]
  readonly notice?: string | undefined
  readonly undo?: Undo | undefined
  readonly request: PageRequest
  readonly listed?: { readonly counts: RunCounts; readonly page: Page<ListedRun> }
  readonly found?: FoundRuns
}

/** All runs of an organization, or of one automation, by page and by a filter. */
export function runsPage(view: RunsPage): Html {
  const { session, automation, found } = view
  const list = listOf(view)
  const rows = list.page.items
  const of = ` of ${automation?.name ?? session.organization}`
  const title = 'Runs'
  const hint = found ? foundLine(view, found) : countLine(list, of)
  const aside = found ? '' : searchBox(list)
  const head = html`<div class="page-head">
    <div>
      <h1>${title}</h1>
      <p class="hint">${hint}</p>
    </div>
    ${aside}
  </div>`
  return frame(
    { title, session, current: automation ? '/automations' : '/executions' },
    html`${automation ? automationHead({ automation, tab: 'runs', title, hint, aside }) : head}
      ${doneNotice(session, view.notice, view.undo)} ${filter(view)}
      <div class="list-tools">
        ${automation ? '' : savedFilters(view)} ${columnChoice(pathOf(view), view.query)}
      </div>
      ${statusFilter(view)}
      <section class="card flush" aria-label="Runs">
        ${
          rows.length > 0
            ? runsTable('Runs', rows, view.query.columns)
            : found
              ? noneFound(found)
              : noRows(list)
        }
      </section>
      ${found ? searchOn(view, found) : pager(list)}`,
  )
}

const noRows = (list: PagedList<ListedRun>): Html =>
  isEmpty(list)
    ? emptyState(
        'pulse',
        'No runs yet',
        html`Start one from the page of an <a href="/automations">automation</a>, or call its API.`,
      )
    : nothingHere(list)

function foundLine({ query }: RunsPage, { items, searchedTo }: FoundRuns): string {
  const runs = plural(items.length, 'run')
  const found = query.text === undefined ? runs : `${runs} with “${query.text}”`
  return searchedTo === null
    ? `${found}; all runs of this filter were searched.`
    : `${found}; searched back to ${absoluteTime(searchedTo)}.`
}

const noneFound = ({ next }: FoundRuns): Html =>
  emptyState(
    'search',
    'No runs found',
    next === undefined ? 'No run has all of this.' : 'None in this part of the runs.',
  )

/** A search goes through the runs part by part, which it says. */
const searchOn = (view: RunsPage, { next }: FoundRuns): Html | string =>
  next === undefined
    ? ''
    : html`<nav class="pager" aria-label="Pages">
        <span></span>
        <a class="button" rel="next" href="${addressOf(view, { after: next })}"
          >Search earlier runs</a
        >
      </nav>`

const pathOf = ({ automation }: RunsPage): string =>
  automation ? `/automations/${automation.automationId}/executions` : '/executions'

const addressOf = (view: RunsPage, more: Readonly<Record<string, string | undefined>>): string =>
  `${pathOf(view)}${queryOf({ ...parametersOf(view.query), ...more })}`

function listOf(view: RunsPage): PagedList<ListedRun> {
  const { listed, found, request } = view
  const given = Object.entries(parametersOf(view.query)).filter(([, value]) => value !== undefined)
  const chosen = Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
  const items = found?.items ?? []
  const page = listed?.page ?? { items, total: items.length }
  const names = { noun: 'run', searched: 'Kickoff ID' }
  return { path: pathOf(view), ...names, page, request, filter: chosen }
}

const TRIGGER_CHOICES = [
  ['', 'Anything'] as const,
  ...TRIGGERS.map((each) => [each, triggerName(each)] as const),
]

function filter(view: RunsPage): Html {
  const { automation, query } = view
  const { status, columns } = parametersOf(query)
  const kept = { ...(status && { status }), ...(columns && { columns }) }
  return filterBar(
    pathOf(view),
    [
      {
        name: 'text',
        label: 'Text, or key:value',
        value: typedOf(query) || undefined,
        keys: RUN_KEYS,
      },
      ...(automation
        ? []
        : [{ name: 'automation', label: 'Automation', value: query.automation } as const]),
      { name: 'trigger', label: 'Started by', value: query.trigger, options: TRIGGER_CHOICES },
      { name: 'by', label: 'Person or token', value: query.starter },
      { name: 'since', label: 'From', value: query.since, type: 'date' },
      { name: 'until', label: 'To', value: query.until, type: 'date' },
    ],
    kept,
  )
}

/** Each status, with the number of its runs where they were counted; the filter stays. */
function statusFilter(view: RunsPage): Html {
  const { listed, query, request } = view
  const entry = (each: RunStatus | undefined, name: string, number: number | undefined): Html => {
    const path = addressOf(view, { status: each, q: request.search })
    return html`<a href="${path}" ${each === query.status ? html`aria-current="page"` : ''}
      >${name} ${number === undefined ? '' : html`<span class="quiet">${count(number)}</span>`}</a
    >`
  }
  return html`<nav class="filter" aria-label="Status">
    ${entry(undefined, 'All', listed && sumOf(listed.counts))}
    ${RUN_STATUSES.map((each) => entry(each, statusName(each), listed?.counts[each]))}
  </nav>`
}

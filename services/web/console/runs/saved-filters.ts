import { html } from 'hono/html'
import {
  deleteRunFilter,
  findRunFilter,
  RUN_FILTER_NAME_MAX,
  RUN_FILTER_QUERY_MAX,
  RUN_FILTERS_MAX,
  saveRunFilter,
} from '../../../platform/runs/run-filters.ts'
import type { RunFilterEntry } from '../../../platform/runs/run-filters.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { deletableFilters } from '../frame/lists/kept-filters.ts'
import type { FilterShelf } from '../frame/lists/kept-filters.ts'
import { queryOf } from '../frame/lists/pager.ts'
import { RUN_COLUMNS } from '../frame/lists/runs-table.ts'
import type { RunColumn } from '../frame/lists/runs-table.ts'
import { csrfField } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { parametersOf, queryTextOf } from './list-query.ts'
import type { RunsQuery } from './list-query.ts'

/** Where filters are kept: those of one person, or those of all members. */
export const filtersPath = (isShared: boolean): string =>
  isShared ? '/shared-run-filters' : '/run-filters'

/** The filters of the list of runs: those of one person, or those of all members. */
export const runFilters = (isShared: boolean): FilterShelf => ({
  right: isShared ? 'editor' : 'viewer',
  path: filtersPath(isShared),
  list: '/executions',
  saved: isShared ? 'filter-shared' : 'filter-saved',
  most: RUN_FILTERS_MAX,
  nameMax: RUN_FILTER_NAME_MAX,
  queryMax: RUN_FILTER_QUERY_MAX,
  tidy: queryTextOf,
  find: (sql, owner, id) => findRunFilter(sql, owner, { id, isShared }),
  save: (sql, owner, filter) => saveRunFilter(sql, owner, { ...filter, isShared }),
  remove: (sql, owner, id) => deleteRunFilter(sql, owner, { id, isShared }),
  ...(isShared && {
    undo: { shared: 'yes' },
    entry: (past, { id, name, query }) => ({
      action: past === 'saved' ? 'run_filter_shared' : 'run_filter_deleted',
      target: { kind: 'run_filter', id, name },
      after: { query },
    }),
  }),
})

/** The list of runs, with the filters that a person sees. */
export interface SavedFilters {
  readonly session: Session
  readonly query: RunsQuery
  readonly filters: readonly RunFilterEntry[]
}

/** The filters that are kept, and what keeps the present one and deletes others. */
export function savedFilters({ session, query, filters }: SavedFilters): Html {
  const current = queryOf(parametersOf(query)).slice(1)
  return html`${
      filters.length === 0
        ? ''
        : html`<nav class="filter" aria-label="Saved filters">
            ${filters.map(
              (each) =>
                html`<a
                  href="/executions${each.query === '' ? '' : `?${each.query}`}"
                  ${each.query === current ? html`aria-current="true"` : ''}
                  >${each.name}${each.isShared ? html` <span class="quiet">shared</span>` : ''}</a
                >`,
            )}
          </nav>`
    }
    <details class="more">
      <summary>Save this filter</summary>
      <div class="card">
        <form method="post" action="/run-filters" class="row">
          ${csrfField(session.csrfToken)}
          <input type="hidden" name="query" value="${current}" />
          <label class="grow"
            >Name
            <input name="name" required maxlength="${RUN_FILTER_NAME_MAX}" autocomplete="off" />
          </label>
          <button class="button">Save for me</button>
          ${
            session.role === 'viewer'
              ? ''
              : html`<button class="button" formaction="/shared-run-filters">Save for all</button>`
          }
        </form>
        ${
          filters.length === 0
            ? ''
            : deletableFilters(session.csrfToken, deletableOf(session, filters), (each) =>
                filtersPath(each.isShared),
              )
        }
      </div>
    </details>`
}

/** Returns the filters that a person may delete. */
const deletableOf = ({ role }: Session, filters: readonly RunFilterEntry[]) =>
  filters.filter(({ isShared }) => !isShared || role !== 'viewer')

const COLUMN_NAMES: Readonly<Record<RunColumn, string>> = {
  automation: 'Automation',
  status: 'Status',
  queued: 'Queued',
  finished: 'Finished',
  starter: 'Started by',
  duration: 'Duration',
  tokens: 'Tokens',
  attempt: 'Attempt',
}

/** The choice of the columns of the list; the address keeps it, and with it a saved filter. */
export function columnChoice(path: string, { columns, ...query }: RunsQuery): Html {
  const kept = Object.entries(parametersOf(query)).filter(([, value]) => value !== undefined)
  return html`<details class="more">
    <summary>Columns</summary>
    <form action="${path}" class="row card" aria-label="Columns">
      ${kept.map(
        ([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}" />`,
      )}
      <div class="ticks">
        ${RUN_COLUMNS.map(
          (each) =>
            html`<label class="tick">
              <input
                type="checkbox"
                name="columns"
                value="${each}"
                ${!columns || columns.includes(each) ? html`checked` : ''}
              />
              ${COLUMN_NAMES[each]}
            </label>`,
        )}
      </div>
      <button class="button">Show</button>
    </form>
  </details>`
}

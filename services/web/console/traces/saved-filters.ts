import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import {
  deleteTraceFilter,
  findTraceFilter,
  saveTraceFilter,
  TRACE_FILTER_NAME_MAX,
  TRACE_FILTERS_MAX,
} from '../../../platform/traces/trace-filters.ts'
import type { TraceFilter } from '../../../platform/traces/trace-filters.ts'
import { deletableFilters } from '../frame/lists/kept-filters.ts'
import type { FilterShelf } from '../frame/lists/kept-filters.ts'
import { csrfField } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { listAddress, readListQuery } from './list-query.ts'
import type { ListQuery } from './list-query.ts'

const ADDRESS = '/traces?'

/** The filters of the list of traces, of one person. */
export const TRACE_FILTERS: FilterShelf = {
  right: 'viewer',
  path: '/trace-filters',
  list: '/traces',
  saved: 'filter-saved',
  most: TRACE_FILTERS_MAX,
  nameMax: TRACE_FILTER_NAME_MAX,
  // What the database takes.
  queryMax: 8192,
  tidy: (query) => listAddress(readListQuery(query)).slice(ADDRESS.length),
  find: findTraceFilter,
  save: saveTraceFilter,
  remove: deleteTraceFilter,
}

/** The filters of a person, and the one that is open. */
export interface SavedFilters {
  readonly session: Session
  readonly query: ListQuery
  readonly filters: readonly TraceFilter[]
}

/** The filters that a person keeps, with what adds the present one and deletes others. */
export function savedFilters({ session, query, filters }: SavedFilters): Html {
  const current = listAddress(query)
  return html`<div class="saved-filters">
    ${
      filters.length > 0
        ? html`<nav class="filter" aria-label="Saved filters">
            ${filters.map((filter) => {
              const isOpen = `/traces?${filter.query}` === current
              return html`<a
                href="/traces?${filter.query}"
                ${isOpen ? html`aria-current="true"` : ''}
                >${filter.name}</a
              >`
            })}
          </nav>`
        : ''
    }
    <details class="more menu">
      <summary>Saved filters</summary>
      <div class="card">
        <form method="post" action="${TRACE_FILTERS.path}" class="inline-form">
          ${csrfField(session.csrfToken)}
          <input type="hidden" name="query" value="${current.slice(ADDRESS.length)}" />
          <label for="filter-name">Name of this filter</label>
          <input
            id="filter-name"
            name="name"
            required
            maxlength="${TRACE_FILTER_NAME_MAX}"
            autocomplete="off"
          />
          <button class="button">Save</button>
        </form>
        ${
          filters.length > 0
            ? deletableFilters(session.csrfToken, filters, () => TRACE_FILTERS.path)
            : html`<p class="hint">Filters are kept for you alone.</p>`
        }
      </div>
    </details>
  </div>`
}

import { html } from 'hono/html'
import type { Page, PageRequest } from '../../../../shared/postgres/paging.ts'
import { manyOf, plural } from '../format.ts'
import { icon } from '../icons.ts'
import { emptyState } from '../parts.ts'
import type { Html } from '../parts.ts'

/** A list that is shown page by page. */
export interface PagedList<Item = unknown> {
  /** The address of the list, without its query. */
  readonly path: string
  /** The rows in the singular: `automation`. */
  readonly noun: string
  /** The hint in the field of the search. @default `Search automations`, by the noun */
  readonly searched?: string
  readonly page: Page<Item>
  readonly request: PageRequest
  /** Other parameters of the address, such as a filter. */
  readonly filter?: Readonly<Record<string, string>>
}

/** Lists of up to this many rows need no search. */
const SEARCH_FROM = 10

/** The form that searches a list; nothing for a list that is short. */
export function searchBox(list: PagedList): Html | string {
  const { path, noun, page, request, filter = {} } = list
  const { search } = request
  const { searched = `Search ${manyOf(noun)}` } = list
  if (search === undefined && page.total <= SEARCH_FROM) return ''
  return html`<form class="search" role="search" action="${path}">
    ${Object.entries(filter).map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
    )}
    <input
      type="search"
      name="q"
      value="${search ?? ''}"
      maxlength="100"
      aria-label="Search ${manyOf(noun)}"
      placeholder="${searched}"
      autocomplete="off"
    />
    <button class="button">Search</button>
  </form>`
}

/** Returns the number of rows: `503 automations`, or `12 automations match “mail”`. */
export function countLine({ noun, page, request }: PagedList, of = ''): string {
  const rows = plural(page.total, noun)
  if (request.search === undefined) return `${rows}${of}`
  return `${rows} ${page.total === 1 ? 'matches' : 'match'} “${request.search}”`
}

/** The links to the pages on either side; nothing for a list of one page. */
export function pager(list: PagedList): Html | string {
  const { previous, next } = list.page
  if (previous === undefined && next === undefined) return ''
  return html`<nav class="pager" aria-label="Pages">
    ${
      previous === undefined
        ? ''
        : html`<a class="button" rel="prev" href="${addressOf(list, { before: previous })}"
            >${icon('back')}<span>Previous</span></a
          >`
    }
    <span class="hint">${plural(list.page.total, list.noun)}</span>
    ${
      next === undefined
        ? ''
        : html`<a class="button" rel="next" href="${addressOf(list, { after: next })}"
            ><span>Next</span>${icon('chevron')}</a
          >`
    }
  </nav>`
}

/** The content of a list without rows: its search finds none, or its page is past the last one. */
export function nothingHere({ path, noun, page, request }: PagedList): Html {
  const isPast = page.total > 0
  const title = isPast ? `No more ${manyOf(noun)}` : `No ${manyOf(noun)} found`
  const why = isPast
    ? 'The rows of this page are gone. '
    : request.search === undefined
      ? ''
      : `Nothing matches “${request.search}”. `
  return emptyState('search', title, html`${why}<a href="${path}">Show all ${manyOf(noun)}</a>`)
}

/** Tells whether a list is empty because there is nothing yet, and not because of its search. */
export const isEmpty = ({ page, request, filter = {} }: PagedList): boolean =>
  page.total === 0 && request.search === undefined && Object.keys(filter).length === 0

/** Returns the query of the parameters that have a value, with its `?`; empty when none has. */
export function queryOf(parameters: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value) query.set(name, value)
  return query.size > 0 ? `?${query.toString()}` : ''
}

/** An address of the list that keeps the filter and the search. */
function addressOf({ path, filter, request }: PagedList, cursor: Record<string, string>): string {
  return `${path}${queryOf({ ...filter, q: request.search, ...cursor })}`
}

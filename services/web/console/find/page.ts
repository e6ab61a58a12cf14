import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../frame/layout.ts'
import { emptyState, listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** Something that has a page. */
export interface Entry {
  readonly kind: string
  readonly name: string
  readonly path: string
}

/** What a search over everything found. */
interface FindPage {
  readonly session: Session
  /** The text searched for, if there is one. */
  readonly text: string | undefined
  readonly entries: readonly Entry[]
}

/** The search over automations, projects and runs. */
export const findPage = ({ session, text, entries }: FindPage): Html =>
  page(
    { title: 'Search', session },
    html`<div class="page-head"><h1>Search</h1></div>
      <form class="card list-filter" role="search" action="/find">
        <div class="row">
          <label class="grow"
            >Name of an automation or a project, or the id of a run
            <input
              type="search"
              name="q"
              value="${text ?? ''}"
              maxlength="100"
              autocomplete="off"
              autofocus
            />
          </label>
          <button class="button primary">Search</button>
        </div>
      </form>
      ${text === undefined ? '' : found(text, entries)}`,
  )

const found = (text: string, entries: readonly Entry[]): Html =>
  html`<section class="card flush" aria-label="Found">
    ${
      entries.length === 0
        ? emptyState(
            'search',
            'Nothing found',
            html`No automation and no project has this in its name.
              <a href="/executions?text=${encodeURIComponent(text)}"
                >Search the inputs and outputs of runs</a
              >`,
          )
        : listTable(
            'Found',
            ['Name', 'Kind'],
            entries.map(
              ({ kind, name, path }) =>
                html`<tr>
                  <td class="lead"><a class="break" href="${path}">${name}</a></td>
                  <td data-label="Kind" class="quiet">${kind}</td>
                </tr>`,
            ),
          )
    }
  </section>`

import { html } from 'hono/html'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Person } from '../../../platform/people/people.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { page as frame } from '../frame/layout.ts'
import { countLine, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import { csrfField, noticeBox, pill, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The page of all people. */
export const PEOPLE_PATH = '/admin/people'

/** One page of the list of people. */
export interface PeoplePage {
  readonly session: Session
  readonly page: Page<Person>
  readonly request: PageRequest
  /** False if nobody signs in with a password. */
  readonly passwords: boolean
  readonly notice?: string | undefined
  readonly problem?: string | undefined
}

/** The people of the platform, with what an administrator may do about each. */
export function peoplePage(view: PeoplePage): Html {
  const { session, page, request, notice, problem } = view
  const list = { path: PEOPLE_PATH, noun: 'account', page, request }
  return frame(
    { title: 'People', session, current: PEOPLE_PATH },
    html`<div class="page-head">
        <div>
          <h1>People</h1>
          <p class="hint">${countLine(list)}</p>
        </div>
        ${searchBox(list)}
      </div>
      ${noticeBox(notice)} ${problemBox(problem)}
      <section class="card flush" aria-label="People">
        ${page.items.length > 0 ? table(view) : nothingHere(list)}
      </section>
      ${pager(list)}`,
  )
}

const table = (view: PeoplePage): Html =>
  html`<table class="list">
    <caption class="unseen">
      People
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Organizations</th>
        <th scope="col">State</th>
        <th scope="col"><span class="unseen">Actions</span></th>
      </tr>
    </thead>
    <tbody>
      ${view.page.items.map((person) => row(view, person))}
    </tbody>
  </table>`

function row(view: PeoplePage, person: Person): Html {
  const { id, name, email, isLocal, isPlatformAdmin, isDisabled, memberships } = person
  const isSelf = id === view.session.user.id
  return html`<tr>
    <td class="lead">
      <span class="break">${name}${isSelf ? ' (you)' : ''}</span>
      <span class="sub break">${email ?? ''}</span>
      ${isLocal ? '' : html`<span class="sub">By the identity provider</span>`}
    </td>
    <td data-label="Organizations" class="row-wide break">${memberships.join(', ') || '–'}</td>
    <td data-label="State">
      ${isDisabled ? pill('idle', 'disabled') : pill('good', 'enabled')}
      ${isPlatformAdmin ? html`<span class="sub">Administrator of the platform</span>` : ''}
    </td>
    <td class="row-wide">${isSelf ? '' : actions(view, person)}</td>
  </tr>`
}

function actions({ session, passwords }: PeoplePage, person: Person): Html {
  const { id, name, isLocal, isDisabled } = person
  const button = (verb: string, path: string): Html =>
    html`<form method="post" action="${PEOPLE_PATH}/${id}/${path}">
      ${csrfField(session.csrfToken)}
      <button class="button small" aria-label="${verb}: ${name}">${verb}</button>
    </form>`
  return html`<div class="buttons">
    ${passwords && isLocal && !isDisabled ? button('Reset password', 'reset') : ''}
    ${isDisabled ? button('Enable', 'enable') : button('Disable', 'disable')}
    <a
      class="button danger small"
      href="${PEOPLE_PATH}/${id}/delete"
      aria-label="Delete the account of ${name}"
      >Delete</a
    >
  </div>`
}

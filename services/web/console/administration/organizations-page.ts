import { html } from 'hono/html'
import type { OrganizationFigures } from '../../../platform/people/organizations.ts'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { count } from '../frame/format.ts'
import { page as frame } from '../frame/layout.ts'
import { countLine, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import { csrfField, noticeBox, pill, problemBox, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The page of all organizations. */
export const ORGANIZATIONS_PATH = '/admin/organizations'

/** One page of the list of organizations. */
export interface OrganizationsPage {
  readonly session: Session
  readonly page: Page<OrganizationFigures>
  readonly request: PageRequest
  readonly notice?: string | undefined
  readonly problem?: string | undefined
  /** A name that was typed and has a problem. */
  readonly typed?: string | undefined
}

/** The organizations of the platform, with how many people and automations each has. */
export function organizationsPage(view: OrganizationsPage): Html {
  const { session, page, request, notice, problem, typed = '' } = view
  const list = { path: ORGANIZATIONS_PATH, noun: 'organization', page, request }
  return frame(
    { title: 'Organizations', session, current: ORGANIZATIONS_PATH },
    html`<div class="page-head">
        <div>
          <h1>Organizations</h1>
          <p class="hint">${countLine(list)}</p>
        </div>
        ${searchBox(list)}
      </div>
      ${noticeBox(notice)} ${problemBox(problem)}
      <section class="card flush" aria-label="Organizations">
        ${page.items.length > 0 ? table(session, page.items) : nothingHere(list)}
      </section>
      ${pager(list)}
      <section class="card narrow" aria-labelledby="new">
        <div class="card-head"><h2 id="new">New organization</h2></div>
        <form method="post" action="${ORGANIZATIONS_PATH}" class="stack">
          ${csrfField(session.csrfToken)}
          <label
            >Name
            <input name="name" value="${typed}" maxlength="200" autocomplete="off" required />
          </label>
          <div><button class="button primary">Create</button></div>
        </form>
      </section>`,
  )
}

const table = (session: Session, items: readonly OrganizationFigures[]): Html =>
  html`<table class="list">
    <caption class="unseen">
      Organizations
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col" class="number">Members</th>
        <th scope="col" class="number">Admins</th>
        <th scope="col" class="number">Automations</th>
        <th scope="col">Created</th>
        <th scope="col"><span class="unseen">Action</span></th>
      </tr>
    </thead>
    <tbody>
      ${items.map((each) => row(session, each))}
    </tbody>
  </table>`

function row(session: Session, organization: OrganizationFigures): Html {
  const { id, name, internal, members, admins, automations, createdAt } = organization
  return html`<tr>
    <td class="lead">
      <span class="break">${name}</span>
      ${internal ? html`<span class="sub">The platform's own: Assistant and Runner</span>` : ''}
    </td>
    <td data-label="Members" class="number">${count(members)}</td>
    <td data-label="Admins" class="number">
      ${admins === 0 && !internal ? pill('waiting', 'none') : count(admins)}
    </td>
    <td data-label="Automations" class="number">${count(automations)}</td>
    <td data-label="Created" class="quiet">${time(createdAt)}</td>
    <td class="action">
      <a
        class="button small"
        href="${ORGANIZATIONS_PATH}/${id}/limits"
        aria-label="Limits of ${name}"
        >Limits</a
      >
      <form method="post" action="${ORGANIZATIONS_PATH}/${id}/invitations">
        ${csrfField(session.csrfToken)}
        <button class="button small" aria-label="Invite an admin of ${name}">
          Invite an admin
        </button>
      </form>
    </td>
  </tr>`
}

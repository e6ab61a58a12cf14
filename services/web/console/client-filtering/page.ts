import { html } from 'hono/html'
import type { ClientSighting } from '../../../platform/automations/client-sightings.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { page as frame } from '../frame/layout.ts'
import { OAUTH_PATH } from '../frame/addresses.ts'
import { countLine, isEmpty, nothingHere, pager, queryOf, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import {
  csrfField,
  emptyState,
  noticeBox,
  pill,
  problemBox,
  time,
  warningBox,
} from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The list of automations with their clients, and those last seen. */
export interface ClientFilteringPage {
  readonly session: Session
  readonly page: Page<Automation>
  readonly request: PageRequest
  readonly sightings: ReadonlyMap<number, ClientSighting>
  readonly isOn: boolean
  readonly notice?: string | undefined
  readonly problem?: string | undefined
}

/** Client ID Filtering → Manage automations: the OAuth client of each automation (SPEC 5.3). */
export function clientFilteringPage(view: ClientFilteringPage): Html {
  const { session, page, isOn, notice, problem } = view
  const list = listOf(view)
  return frame(
    { title: 'Client ID Filtering', session, current: '/settings' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="${OAUTH_PATH}">Settings</a><a href="${OAUTH_PATH}">OAuth 2.0 for Automations</a>
      </nav>
      <div class="page-head">
        <div>
          <h1>Client ID Filtering</h1>
          <p class="hint">
            An access token is accepted only if its client ID is exactly the one entered here.
            ${countLine(list)}.
          </p>
        </div>
        ${searchBox(list)}
      </div>
      ${noticeBox(notice)} ${problemBox(problem)}
      ${isOn ? '' : warningBox('OAuth is off. These client IDs take effect when you turn it on.')}
      <section class="card flush" aria-label="Automations">
        ${page.items.length > 0 ? bindingsTable(view) : noRows(list)}
      </section>
      ${pager(list)}`,
  )
}

const listOf = ({ page, request }: ClientFilteringPage): PagedList => ({
  path: `${OAUTH_PATH}/clients`,
  noun: 'automation',
  page,
  request,
})

const noRows = (list: PagedList): Html =>
  isEmpty(list)
    ? emptyState(
        'automations',
        'No automations yet',
        html`See <a href="/automations">Automations</a> for the way to the first one.`,
      )
    : nothingHere(list)

function bindingsTable(view: ClientFilteringPage): Html {
  return html`<table class="list">
    <caption class="unseen">
      Automations and their OAuth clients
    </caption>
    <thead>
      <tr>
        <th scope="col">Automation</th>
        <th scope="col">OAuth Client ID</th>
        <th scope="col">Last client seen</th>
        <th scope="col">Accepted</th>
      </tr>
    </thead>
    <tbody>
      ${view.page.items.map((automation) => bindingRow(view, automation))}
    </tbody>
  </table>`
}

function bindingRow(view: ClientFilteringPage, automation: Automation): Html {
  const { session, sightings, request } = view
  const { after, before, search: q } = request
  const place = queryOf({ after, before, q })
  const { id, automationId, name, slug, oauthClientId } = automation
  const seen = sightings.get(id)
  return html`<tr>
    <td class="lead">
      <a href="/automations/${automationId}">${name}</a>
      <span class="sub mono">${slug}</span>
    </td>
    <td class="row-wide" data-label="OAuth Client ID">
      <form method="post" action="${OAUTH_PATH}/clients/${automationId}${place}" class="binding">
        ${csrfField(session.csrfToken)}
        <input
          name="client_id"
          value="${oauthClientId ?? ''}"
          aria-label="OAuth Client ID of ${name}"
          placeholder="None: OAuth calls are refused"
          maxlength="300"
          autocomplete="off"
          spellcheck="false"
        />
        <button class="button small" aria-label="Save the client of ${name}">Save</button>
      </form>
    </td>
    <td data-label="Last client seen" class="wide">
      ${
        seen
          ? html`<span class="value break">${seen.clientId}</span>
              <span class="sub">${time(seen.seenAt)}</span>`
          : html`<span class="quiet">None yet</span>`
      }
    </td>
    <td class="state">${seen ? isAccepted(seen.clientId === oauthClientId) : '–'}</td>
  </tr>`
}

const isAccepted = (passes: boolean): Html => (passes ? pill('good', 'yes') : pill('bad', 'no'))

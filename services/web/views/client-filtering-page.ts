import { html } from 'hono/html'
import type { ClientSighting } from '../../platform/client-sightings.ts'
import type { Deployment } from '../../platform/deployments.ts'
import type { Session } from '../../platform/sessions.ts'
import { page } from './layout.ts'
import { OAUTH_PATH } from './oauth-settings-view.ts'
import { csrfField, emptyState, noticeBox, pill, problemBox, time, warningBox } from './parts.ts'
import type { Html } from './parts.ts'

export interface ClientFilteringPage {
  readonly session: Session
  readonly automations: readonly Deployment[]
  readonly sightings: ReadonlyMap<number, ClientSighting>
  readonly isOn: boolean
  readonly notice?: string | undefined
  readonly problem?: string | undefined
}

/** Client ID Filtering → Manage automations: the one OAuth client of each automation (SPEC 5.3). */
export function clientFilteringPage(view: ClientFilteringPage): Html {
  const { session, automations, isOn, notice, problem } = view
  return page(
    { title: 'Client ID Filtering', session, current: '/settings' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="${OAUTH_PATH}">Settings</a><a href="${OAUTH_PATH}">OAuth 2.0 for Automations</a>
      </nav>
      <div class="page-head">
        <div>
          <h1>Client ID Filtering</h1>
          <p class="hint">
            A token is accepted when its client is, byte for byte, the one that is entered here.
          </p>
        </div>
      </div>
      ${noticeBox(notice)} ${problemBox(problem)}
      ${isOn ? '' : warningBox('OAuth is off: until it is on, these clients decide nothing.')}
      <section class="card flush" aria-label="Automations">
        ${
          automations.length === 0
            ? emptyState(
                'automations',
                'No automations yet',
                'An automation appears here when a crew of your organization is deployed.',
              )
            : bindingsTable(view)
        }
      </section>`,
  )
}

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
        <th scope="col">Would pass</th>
      </tr>
    </thead>
    <tbody>
      ${view.automations.map((automation) => bindingRow(view, automation))}
    </tbody>
  </table>`
}

function bindingRow({ session, sightings }: ClientFilteringPage, automation: Deployment): Html {
  const { id, automationId, name, slug, oauthClientId } = automation
  const seen = sightings.get(id)
  return html`<tr>
    <td class="lead">
      <a href="/automations/${automationId}">${name}</a>
      <span class="sub mono">${slug}</span>
    </td>
    <td class="row-wide" data-label="OAuth Client ID">
      <form method="post" action="${OAUTH_PATH}/clients/${automationId}" class="binding">
        ${csrfField(session.csrfToken)}
        <input
          name="client_id"
          value="${oauthClientId ?? ''}"
          aria-label="OAuth Client ID of ${name}"
          placeholder="none: OAuth calls are refused"
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
    <td class="state">${seen ? wouldPass(seen.clientId === oauthClientId) : '–'}</td>
  </tr>`
}

const wouldPass = (passes: boolean): Html => (passes ? pill('good', 'yes') : pill('bad', 'no'))

import { html } from 'hono/html'
import type { LlmConnection } from '../../../platform/connections/llm-connections.ts'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { Credentials } from './test-connection.ts'
import { page as frame } from '../frame/layout.ts'
import { countLine, isEmpty, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { emptyState, noticeBox, pill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

type Row = LlmConnection & { readonly credentials: Credentials }

/** One page of the list of connections. */
export interface LlmConnectionsPage {
  readonly session: Session
  readonly page: Page<LlmConnection>
  readonly request: PageRequest
  /** The rows of the page, each with its credentials. */
  readonly rows: readonly Row[]
  readonly notice: string | undefined
}

/** The connections of an organization, by page and by search. */
export function llmConnectionsPage(view: LlmConnectionsPage): Html {
  const { session, page, request, rows, notice } = view
  const list = { path: '/llm-connections', noun: 'connection', page, request }
  return frame(
    { title: 'LLM connections', session, current: '/llm-connections' },
    html`<div class="page-head">
        <div>
          <h1>LLM connections</h1>
          <p class="hint">${countLine(list, ` of ${session.organization}`)}</p>
        </div>
        ${searchBox(list)}
        <a class="button primary push" href="/new-llm-connection">New connection</a>
      </div>
      ${noticeBox(notice)}
      <section class="card flush" aria-label="LLM connections">
        ${rows.length > 0 ? connectionsTable(rows) : noRows(list)}
      </section>
      ${pager(list)}`,
  )
}

const noRows = (list: PagedList): Html => (isEmpty(list) ? nothingYet() : nothingHere(list))

const nothingYet = (): Html =>
  emptyState(
    'link',
    'No connections yet',
    html`Crews call their models with the credentials of the platform.
      <a href="/new-llm-connection">Create a connection</a> to use a provider, an address or a key
      of your own.`,
  )

function connectionsTable(rows: readonly Row[]): Html {
  return html`<table class="list">
    <caption class="unseen">
      LLM connections
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Credentials</th>
        <th scope="col">Model</th>
        <th scope="col">Address</th>
      </tr>
    </thead>
    <tbody>
      ${rows.map(connectionRow)}
    </tbody>
  </table>`
}

function connectionRow({ id, name, provider, model, baseUrl, credentials }: Row): Html {
  return html`<tr>
    <td class="lead">
      <a href="/llm-connections/${id}">${name}</a>
      <span class="sub mono">${provider}</span>
    </td>
    <td class="state">${credentialsPill(credentials)}</td>
    <td data-label="Model" class="row-wide"><span class="mono">${model}</span></td>
    <td data-label="Address" class="quiet row-wide">
      ${baseUrl ? html`<span class="mono break">${baseUrl}</span>` : 'The provider’s own'}
    </td>
  </tr>`
}

/** The source of a connection's credentials in a word or two. */
export function credentialsPill({ source, missing }: Credentials): Html {
  if (missing.length > 0) return pill('bad', 'missing')
  if (source === 'none') return pill('idle', 'none needed')
  return pill('good', source === 'connection' ? 'own key' : 'platform key')
}

import { html } from 'hono/html'
import type { LlmConnection } from '../../platform/llm-connections.ts'
import type { Session } from '../../platform/sessions.ts'
import type { Credentials } from '../llm/test-connection.ts'
import { plural } from './format.ts'
import { page } from './layout.ts'
import { emptyState, noticeBox, pill } from './parts.ts'
import type { Html } from './parts.ts'

type Row = LlmConnection & { readonly credentials: Credentials }

export interface LlmConnectionsPage {
  readonly session: Session
  readonly rows: readonly Row[]
  readonly notice: string | undefined
}

export function llmConnectionsPage({ session, rows, notice }: LlmConnectionsPage): Html {
  return page(
    { title: 'LLM connections', session, current: '/llm-connections' },
    html`<div class="page-head">
        <div>
          <h1>LLM connections</h1>
          <p class="hint">${plural(rows.length, 'connection')} of ${session.organization}</p>
        </div>
        <a class="button primary push" href="/new-llm-connection">New connection</a>
      </div>
      ${noticeBox(notice)}
      <section class="card flush" aria-label="LLM connections">
        ${rows.length > 0 ? connectionsTable(rows) : nothingYet()}
      </section>`,
  )
}

const nothingYet = (): Html =>
  emptyState(
    'link',
    'No connections yet',
    'Without one, crews call the model that they were deployed with. A connection says where a model is, and which key opens it.',
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
      ${baseUrl ? html`<span class="mono break">${baseUrl}</span>` : 'Of the provider'}
    </td>
  </tr>`
}

export function credentialsPill({ source, missing }: Credentials): Html {
  if (missing.length > 0) return pill('bad', 'missing')
  if (source === 'none') return pill('idle', 'none needed')
  return pill('good', source === 'connection' ? 'own key' : 'platform key')
}

import { html } from 'hono/html'
import type { OauthConnection } from '../../../platform/connections/oauth-connections.ts'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { page as frame } from '../frame/layout.ts'
import { countLine, isEmpty, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { emptyState, listTable, noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { providerName } from './shapes.ts'
import { lifeOf, stateOf, statePill } from './state.ts'

/** One page of the list of connections. */
interface ConnectionsPage {
  readonly session: Session
  readonly page: Page<OauthConnection>
  readonly request: PageRequest
  /** False: this platform has no OAuth service. */
  readonly isServed: boolean
  readonly notice?: string | undefined
  readonly problem?: string | undefined
}

/** The connections of an organization, by page and by search. */
export function connectionsPage(view: ConnectionsPage): Html {
  const { session, page, request, isServed, notice, problem } = view
  const list = { path: '/connections', noun: 'connection', page, request }
  return frame(
    { title: 'Connections', session, current: '/connections' },
    html`<div class="page-head">
        <div>
          <h1>Connections</h1>
          <p class="hint">${countLine(list, ` of ${session.organization}`)}</p>
        </div>
        ${searchBox(list)}
        ${
          isServed
            ? html`<a class="button primary push" href="/new-connection">New connection</a>`
            : ''
        }
      </div>
      ${noticeBox(notice)} ${problemBox(problem)}
      <section class="card flush" aria-label="Connections">
        ${page.items.length > 0 ? connectionsTable(page.items) : noRows(list, isServed)}
      </section>
      ${pager(list)}`,
  )
}

function noRows(list: PagedList, isServed: boolean): Html {
  if (!isEmpty(list)) return nothingHere(list)
  return isServed
    ? emptyState(
        'link',
        'No connections yet',
        html`Tools that call an API or an MCP server use accounts and keys from here.
          <a href="/new-connection">Create a connection</a> and name it in a tool.`,
      )
    : emptyState(
        'link',
        'This platform has no OAuth service',
        'It keeps the tokens of connections. The operator deploys it with oauth.enabled.',
      )
}

function connectionsTable(connections: readonly OauthConnection[]): Html {
  return listTable(
    'Connections',
    ['Name', 'State', 'Token', 'Goes to'],
    connections.map(connectionRow),
  )
}

function connectionRow(connection: OauthConnection): Html {
  const { id, name, provider, hosts } = connection
  const { advice } = stateOf(connection)
  const [first, ...others] = hosts
  return html`<tr>
    <td class="lead">
      <a href="/connections/${id}">${name}</a>
      <span class="sub">${providerName(provider)}</span>
    </td>
    <td class="state">${statePill(connection)}</td>
    <td data-label="Token" class="row-wide">
      ${lifeOf(connection)} ${advice ? html`<span class="sub break">${advice}</span>` : ''}
    </td>
    <td data-label="Goes to" class="quiet row-wide">
      ${
        first === undefined
          ? 'Wherever its tools call'
          : html`<span class="mono break">${first}</span>${
                others.length > 0 ? html` <span class="sub">and ${others.length} more</span>` : ''
              }`
      }
    </td>
  </tr>`
}

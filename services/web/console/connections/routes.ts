import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import { pageConnections } from '../../../platform/connections/oauth-connections.ts'
import type { OauthConnection } from '../../../platform/connections/oauth-connections.ts'
import { AppError, toAppError } from '../../../shared/errors.ts'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { isNameCursor, readPageRequest } from '../frame/lists/page-request.ts'
import type { Html } from '../frame/parts.ts'
import { emptyState, listTable, noticeBox, problemBox } from '../frame/parts.ts'
import { createRoom } from '../frame/room.ts'
import { page as frame } from '../frame/layout.ts'
import { countLine, isEmpty, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { callbackUrlOf, connectionPageRoutes, note, sendToProvider } from './connection-routes.ts'
import { fieldProblemsOf, newConnection, readConnectionForm, toBody } from './form.ts'
import { choosePage, newConnectionPage } from './new-page.ts'
import { createConnectionService } from './service.ts'
import type { ConnectionService } from './service.ts'
import { providerName } from './shapes.ts'
import { lifeOf, stateOf, statePill } from './state.ts'

/** Serves the connections of an organization to its members. */
export function connectionRoutes(deps: WebDeps): Hono<SignedIn> {
  const room = createRoom(deps, {
    'connection-created': 'The connection is created. You can test it here.',
    'connection-connected': 'The connection is connected. Tools can use it from now on.',
  })
  const service = createConnectionService(deps)
  const context = { deps, service }

  room.page('viewer', '/connections', async (c) => c.html(await listPage(c, context)))

  room.page('admin', '/new-connection', async (c) => {
    const { session: signedIn } = c.var
    const { shape, operator } = c.req.query()
    const offered = await service.providers().catch(toAppError)
    if (offered instanceof AppError) {
      const { message: problem, status } = offered
      return c.html(choosePage({ session: signedIn, offered: undefined, problem }), status)
    }
    const names = offered.providers.map(({ name }) => name)
    const chosen = operator !== undefined && names.includes(operator) ? operator : shape
    const typed = chosen === undefined ? undefined : newConnection(chosen, chosen === operator)
    if (!typed) return c.html(choosePage({ session: signedIn, offered }))
    return c.html(
      newConnectionPage({ session: signedIn, typed, callbackUrl: offered.callback_url }),
    )
  })

  room.form('admin', '/connections', async (c) => {
    const { session: signedIn, form: posted } = c.var
    const { organizationId } = signedIn.user
    const isOperators = posted.get('operator') === 'yes'
    const begun = newConnection(posted.get('provider') ?? '', isOperators)
    if (!begun) throw new AppError('unprocessable', 'Choose what to connect to first.')
    const read = readConnectionForm(posted, begun)
    try {
      const body = { ...toBody(read), name: read.typed.texts.name }
      const id = await service.create(c.var.actor, organizationId, body)
      note(c, 'connection_created', id)
      if (begun.kind === 'static_token' || begun.kind === 'identity') {
        return c.redirect(`/connections/${id}?notice=connection-created`, 303)
      }
      return await sendToProvider(c, deps, { service, id })
    } catch (thrown) {
      const problems = fieldProblemsOf(thrown)
      const callbackUrl = await callbackUrlOf(service)
      const page = { session: signedIn, typed: read.typed, callbackUrl, problems }
      return c.html(newConnectionPage(page), 422)
    }
  })

  room.page('admin', '/connect/callback', (c) => takeAnswer(c, context))

  room.routes.route('/', connectionPageRoutes(deps, service))
  return room.routes
}

interface ListContext {
  readonly deps: WebDeps
  readonly service: ConnectionService
}

async function listPage(
  c: Context<SignedIn>,
  { deps, service }: ListContext,
  problem?: string,
): Promise<Html> {
  const { session } = c.var
  const request = readPageRequest(c, isNameCursor)
  const page = await pageConnections(deps.sql, session.user.organizationId, request)
  const notice = c.var.notice
  return connectionsPage({ session, page, request, isServed: service.isThere, notice, problem })
}

/** Takes the answer of a provider, in the session that began. */
async function takeAnswer(c: Context<SignedIn>, context: ListContext): Promise<Response> {
  // A program that looks at links must not use one up.
  if (c.req.method !== 'GET') throw new AppError('method_not_allowed', 'Open this link.')
  try {
    const id = await context.service.complete(
      c.var.actor,
      new URL(c.req.url).search || '?',
      c.var.session,
    )
    note(c, 'connection_connected', id)
    return c.redirect(`/connections/${id}?notice=connection-connected`, 303)
  } catch (thrown) {
    const { message, status } = toAppError(thrown)
    return c.html(await listPage(c, context, message), status)
  }
}

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
function connectionsPage(view: ConnectionsPage): Html {
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
        'plug',
        'No connections yet',
        html`Tools that call an API or an MCP server use accounts and keys from here.
          <a href="/new-connection">Create a connection</a> and name it in a tool.`,
      )
    : emptyState(
        'plug',
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

import type { Context, Hono } from 'hono'
import { pageConnections } from '../../../platform/connections/oauth-connections.ts'
import { AppError, toAppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { isNameCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { callbackUrlOf, connectionPageRoutes, note, sendToProvider } from './connection-routes.ts'
import { fieldProblemsOf, newConnection, readConnectionForm, toBody } from './form.ts'
import { connectionsPage } from './list-page.ts'
import { choosePage, newConnectionPage } from './new-page.ts'
import { createConnectionService } from './service.ts'
import type { ConnectionService } from './service.ts'
import type { Html } from '../frame/parts.ts'
import { createRoom } from '../frame/room.ts'

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

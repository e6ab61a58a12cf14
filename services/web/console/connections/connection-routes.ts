import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import { isUuid } from '../../../platform/automations/automations.ts'
import { findConnection } from '../../../platform/connections/oauth-connections.ts'
import type { OauthConnection } from '../../../platform/connections/oauth-connections.ts'
import { AppError, toAppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { plainPage } from '../frame/layout.ts'
import { fieldProblemsOf, readConnectionForm, toBody, toTyped } from './form.ts'
import { connectionPage } from './page.ts'
import type { ConnectionPage } from './page.ts'
import type { ConnectionService } from './service.ts'
import { createRoom } from '../frame/room.ts'
import { bindingOf } from './session-binding.ts'

const NOTICES = {
  'connection-saved': 'The connection is saved.',
  'connection-ended':
    'The connection is saved, and its token ended, because it would have gone elsewhere: ' +
    'connect it again.',
  'connection-revoked': 'The tokens are revoked at the provider and deleted here.',
  'connection-forgotten':
    'The tokens are deleted here. The provider has no way to revoke them: end the access in ' +
    'your account there.',
  'connection-not-revoked':
    'The tokens are deleted here, but the provider could not be told: end the access in your ' +
    'account there.',
  'connection-deleted': 'The connection is deleted.',
}

/** Serves the page of a connection; changes, connects, tests, revokes and deletes it. */
export function connectionPageRoutes(deps: WebDeps, service: ConnectionService): Hono<SignedIn> {
  const room = createRoom(deps, NOTICES)
  const path = '/connections/:id'

  room.page('viewer', path, async (c) => {
    const connection = await getConnection(c, deps)
    return c.html(await show(c, service, { connection, notice: c.var.notice }))
  })

  room.form('admin', path, async (c) => {
    const connection = await getConnection(c, deps)
    const read = readConnectionForm(c.var.form, toTyped(connection))
    try {
      const keepsTokens = await service.change(c.var.actor, connection, toBody(read))
      note(c, 'connection_changed', connection.id)
      const isEnded = connection.status === 'connected' && !keepsTokens && read.token === ''
      const notice = isEnded ? 'connection-ended' : 'connection-saved'
      return c.redirect(`/connections/${connection.id}?notice=${notice}`, 303)
    } catch (thrown) {
      const problems = fieldProblemsOf(thrown)
      return c.html(await show(c, service, { connection, typed: read.typed, problems }), 422)
    }
  })

  room.form('admin', `${path}/connect`, async (c) => {
    const { id } = await getConnection(c, deps)
    return sendToProvider(c, deps, { service, id })
  })

  room.form('admin', `${path}/test`, async (c) => {
    const connection = await getConnection(c, deps)
    note(c, 'connection_tested', connection.id)
    const test = await service.test(connection)
    return c.html(await show(c, service, { connection: await getConnection(c, deps), test }))
  })

  room.form('admin', `${path}/revoke`, async (c) => {
    const connection = await getConnection(c, deps)
    const revocation = await service.revoke(c.var.actor, connection)
    note(c, 'connection_revoked', connection.id)
    return c.redirect(`/connections/${connection.id}?notice=connection-${REVOKED[revocation]}`, 303)
  })

  room.form('admin', `${path}/delete`, async (c) => {
    const connection = await getConnection(c, deps)
    await service.remove(c.var.actor, connection)
    note(c, 'connection_deleted', connection.id)
    return c.redirect('/connections?notice=connection-deleted', 303)
  })

  return room.routes
}

const REVOKED = {
  revoked: 'revoked',
  not_authorized: 'revoked',
  unsupported: 'forgotten',
  failed: 'not-revoked',
} as const

interface Connecting {
  readonly service: ConnectionService
  readonly id: string
}

/**
 * Connects a connection: leads the browser to its provider, by a page rather than a redirect, which
 * our policy for forms would stop.
 */
export async function sendToProvider(
  c: Context<SignedIn>,
  deps: WebDeps,
  { service, id }: Connecting,
): Promise<Response> {
  const { organizationId } = c.var.session.user
  try {
    const binding = bindingOf(c.var.session)
    const url = await service.connect(c.var.actor, { id, organizationId }, binding)
    note(c, 'connection_begun', id)
    if (url === null) return c.redirect(`/connections/${id}?notice=connection-connected`, 303)
    return c.html(
      plainPage(
        'Connect',
        html`<p>The next page is at <strong>${new URL(url).host}</strong>.</p>
          <p><a class="button primary" href="${url}" rel="noreferrer">Continue</a></p>
          <p><a href="/connections/${id}">Back to the connection</a></p>`,
        { goTo: url },
      ),
    )
  } catch (thrown) {
    const { message: problem, status } = toAppError(thrown)
    const connection = await findOwn(deps, { id, organizationId })
    return c.html(await show(c, service, { connection, problem }), status)
  }
}

/** Shows the page of a connection. */
async function show(
  c: Context<SignedIn>,
  service: ConnectionService,
  page: Omit<ConnectionPage, 'session' | 'callbackUrl'>,
) {
  const isOfClient =
    page.connection.settings !== null && page.connection.kind === 'authorization_code'
  const callbackUrl = isOfClient ? await callbackUrlOf(service) : undefined
  return connectionPage({ ...page, session: c.var.session, callbackUrl })
}

/** Returns the address that providers send browsers back to; undefined where nobody can tell. */
export async function callbackUrlOf(service: ConnectionService): Promise<string | undefined> {
  try {
    return (await service.providers()).callback_url
  } catch {
    // The page is of use without it.
    return undefined
  }
}

async function getConnection(c: Context<SignedIn>, deps: WebDeps): Promise<OauthConnection> {
  const { organizationId } = c.var.session.user
  return findOwn(deps, { id: c.req.param('id') ?? '', organizationId })
}

async function findOwn(
  { sql }: WebDeps,
  { id, organizationId }: Pick<OauthConnection, 'id' | 'organizationId'>,
): Promise<OauthConnection> {
  const found = isUuid(id) ? await findConnection(sql, id) : undefined
  if (found?.organizationId === organizationId) return found
  throw new AppError('not_found', 'Your organization has no such connection.')
}

/**
 * Adds to the log of the request what was done to which connection. The OAuth service records it in
 * the audit.
 */
export function note(c: Context<SignedIn>, event: string, connectionId: string): void {
  Object.assign(c.var.wide, { audit: event, connection_id: connectionId })
}

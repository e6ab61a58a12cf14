import { Hono } from 'hono'
import { findConnection, listConnections } from '../../platform/connections/oauth-connections.ts'
import type { OauthConnection } from '../../platform/connections/oauth-connections.ts'
import { AppError } from '../../shared/errors.ts'
import { readJson } from '../../shared/http/json-body.ts'
import { beginAuthorization } from '../authorization.ts'
import type { OauthApp, OauthDeps } from '../context.ts'
import { removeConnection } from '../remove-connection.ts'
import { callbackUrl } from './callback-url.ts'
import {
  readConnection,
  readConnectionId,
  readConnectionPage,
  readOrganizationId,
} from './connection-request.ts'

const BODY_BYTES_MAX = 16 << 10

/** The providers to connect to, and the connections of an organization. */
export function connectionRoutes(deps: OauthDeps): Hono<OauthApp> {
  const { sql, settings, config } = deps
  const routes = new Hono<OauthApp>()
  const redirectUri = callbackUrl(config.OAUTH_PUBLIC_URL)

  routes.get('/providers', (c) => {
    const providers = [...settings.values()].map(({ name, scopes }) => ({ name, scopes }))
    return c.json({ providers, callback_url: redirectUri })
  })

  routes.post('/connections', async (c) => {
    const body = await readJson(c.req.raw, BODY_BYTES_MAX)
    const connection = readConnection(body, [...settings.keys()])
    const opened = await beginAuthorization(
      { ...deps, actor: c.var.actor },
      connection,
      redirectUri,
    )
    const { connectionId, authorizationUrl, expiresAt, created } = opened
    c.var.wide['connection_id'] = connectionId
    const answer = {
      connection_id: connectionId,
      authorization_url: authorizationUrl,
      expires_at: expiresAt.toISOString(),
    }
    return c.json(answer, created ? 201 : 200, { location: `/connections/${connectionId}` })
  })

  routes.get('/connections', async (c) => {
    const organizationId = readOrganizationId(c.req.queries('organization_id'))
    const page = readConnectionPage(c.req.queries('limit'), c.req.queries('cursor'))
    const { limit } = page
    const found = await listConnections(sql, organizationId, { ...page, limit: limit + 1 })
    const shown = found.slice(0, limit)
    const next = found.length > limit ? (shown.at(-1)?.name ?? null) : null
    return c.json({ connections: shown.map(toJson), next_cursor: next })
  })

  routes.get('/connections/:id', async (c) => {
    const id = readConnectionId(c.req.param('id'))
    const connection = await findConnection(sql, id)
    if (!connection) throw new AppError('not_found', `There is no connection ${id}.`)
    return c.json(toJson(connection))
  })

  routes.delete('/connections/:id', async (c) => {
    const id = readConnectionId(c.req.param('id'))
    c.var.wide['connection_id'] = id
    const revocation = await removeConnection({ ...deps, actor: c.var.actor }, id)
    return c.json({ connection_id: id, deleted: true, revocation })
  })

  return routes
}

function toJson(connection: OauthConnection) {
  const { id, organizationId, provider, name, status, statusReason, scope } = connection
  return {
    connection_id: id,
    organization_id: organizationId,
    provider,
    name,
    status,
    status_reason: statusReason,
    scope,
    expires_at: connection.expiresAt?.toISOString() ?? null,
    created_at: connection.createdAt.toISOString(),
    authorized_at: connection.authorizedAt?.toISOString() ?? null,
    refreshed_at: connection.refreshedAt?.toISOString() ?? null,
  }
}

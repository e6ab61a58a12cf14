import { Hono } from 'hono'
import type { GetAccessToken } from '../access-token.ts'
import type { OauthApp } from '../context.ts'
import { readConnectionId } from './connection-request.ts'

/** `POST /connections/:id/token`: an access token that is good for a while yet. */
export function tokenRoutes(getAccessToken: GetAccessToken): Hono<OauthApp> {
  const routes = new Hono<OauthApp>()

  routes.post('/connections/:id/token', async (c) => {
    const id = readConnectionId(c.req.param('id'))
    c.var.wide['connection_id'] = id
    const { accessToken, tokenType, expiresAt, scope, ...use } = await getAccessToken(id)
    return c.json({
      access_token: accessToken,
      token_type: tokenType,
      expires_at: expiresAt?.toISOString() ?? null,
      scope,
      ...use,
    })
  })

  return routes
}

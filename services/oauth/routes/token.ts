import { Hono } from 'hono'
import { createTokenDesk } from '../access-token.ts'
import type { OauthApp, OauthDeps } from '../context.ts'
import { readConnectionId } from './connection-request.ts'

/** `POST /connections/:id/token`: an access token that is good for a while yet. */
export function tokenRoutes(deps: OauthDeps): Hono<OauthApp> {
  const routes = new Hono<OauthApp>()
  const getAccessToken = createTokenDesk(deps)

  routes.post('/connections/:id/token', async (c) => {
    const id = readConnectionId(c.req.param('id'))
    c.var.wide['connection_id'] = id
    const { accessToken, tokenType, expiresAt, scope } = await getAccessToken(id)
    return c.json({
      access_token: accessToken,
      token_type: tokenType,
      expires_at: expiresAt?.toISOString() ?? null,
      scope,
    })
  })

  return routes
}

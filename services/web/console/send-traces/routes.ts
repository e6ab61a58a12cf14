import type { Hono } from 'hono'
import { countExpiringTokens } from '../../../platform/traces/trace-tokens.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { tokensOf } from '../../nouns/trace-tokens.ts'
import { createRoom } from '../frame/room.ts'
import { sendTracesPage } from './page.ts'
import { createSettings } from './settings.ts'

/** Serves the page that shows how to send traces. */
export function sendTracesRoutes(deps: WebDeps): Hono<SignedIn> {
  const settings = createSettings()
  const room = createRoom(deps, {})
  room.page('viewer', '/send-traces', async (c) => {
    const { endpoint } = tokensOf(deps)
    const { session } = c.var
    const expiring = await countExpiringTokens(deps.sql, session.user.organizationId)
    const setting = settings.find(c.req.query('for') ?? '')
    return c.html(sendTracesPage({ session, endpoint, expiring, settings: settings.all, setting }))
  })
  return room.routes
}

import { Hono } from 'hono'
import type { MiddlewareHandler } from 'hono'
import { AppError } from '../shared/errors.ts'
import { healthRoutes } from '../shared/http/health.ts'
import { requestLog } from '../shared/log.ts'
import { readActingFor } from './acting-for.ts'
import { createTokenDesk } from './access-token.ts'
import { requireApiKey } from './api-key.ts'
import type { OauthApp, OauthDeps } from './context.ts'
import { callbackRoutes } from './routes/callback.ts'
import { connectionRoutes } from './routes/connections.ts'
import { answerError } from './routes/errors.ts'
import { ownConnectionRoutes } from './routes/own-connections.ts'
import { tokenRoutes } from './routes/token.ts'
import { PAGE_POLICY } from './views/callback-page.ts'

/** The paths that only the other services of the platform may call. */
const KEYED = [
  '/providers',
  '/connections',
  '/connections/*',
  '/organizations/*',
  '/authorizations',
]

const HEADERS = Object.entries({
  'content-security-policy': PAGE_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // The address of a callback holds a code.
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
})

const securityHeaders: MiddlewareHandler = async function addSecurityHeaders(c, next) {
  await next()
  for (const [name, value] of HEADERS) c.res.headers.set(name, value)
}

/** The OAuth service: the API with a key, the callback for browsers, health. */
export function createApp(deps: OauthDeps): Hono<OauthApp> {
  const app = new Hono<OauthApp>()
  app.use(requestLog(deps.log))
  app.use(securityHeaders)
  app.onError(answerError(deps))
  app.notFound(() => {
    throw new AppError('not_found', 'There is nothing at this address.')
  })
  app.route('/', healthRoutes(deps))
  app.route('/', callbackRoutes(deps))
  const authenticate = requireApiKey(deps.config.PLATFORM_OAUTH_API_KEY)
  for (const path of KEYED) app.use(path, authenticate, readActingFor)
  app.route('/', connectionRoutes(deps))
  const getAccessToken = createTokenDesk(deps)
  app.route('/', tokenRoutes(getAccessToken))
  app.route('/', ownConnectionRoutes(deps, getAccessToken))
  return app
}

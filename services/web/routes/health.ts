import { Hono } from 'hono'
import { toError } from '../../shared/errors.ts'
import type { WebApp, WebDeps } from '../context.ts'

/** `GET /health`: can this pod serve (SPEC 4.2)? `GET /health/live`: is the process up? Both anonymous. */
export function healthRoutes({ ping, isDraining }: WebDeps): Hono<WebApp> {
  const routes = new Hono<WebApp>()

  routes.get('/health', async (c) => {
    if (isDraining()) return c.json({ status: 'fail' }, 503)
    try {
      await ping()
      return c.json({ status: 'ok' })
    } catch (thrown) {
      c.var.wide['database'] = toError(thrown).message
      return c.json({ status: 'fail' }, 503)
    }
  })

  routes.get('/health/live', (c) => c.json({ status: 'ok' }))

  return routes
}

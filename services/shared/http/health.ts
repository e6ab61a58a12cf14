import { Hono } from 'hono'
import type { Context } from 'hono'
import { toError } from '../errors.ts'
import type { RequestVariables } from '../log.ts'

interface HealthDeps {
  /** Rejects when the database does not respond. */
  readonly ping: () => Promise<void>
  readonly isDraining: () => boolean
}

/**
 * Serves `GET /health`: the database responds (SPEC 4.2); `GET /health/ready`: the pod takes
 * requests, with its database or without; `GET /health/live`: the process is up. All anonymous.
 */
export function healthRoutes({
  ping,
  isDraining,
}: HealthDeps): Hono<{ Variables: RequestVariables }> {
  const routes = new Hono<{ Variables: RequestVariables }>()

  routes.get('/health', async (c) => {
    if (isDraining()) return draining(c)
    try {
      await ping()
      return c.json({ status: 'ok' })
    } catch (thrown) {
      c.var.wide['database'] = toError(thrown).message
      return c.json({ status: 'fail' }, 503)
    }
  })

  routes.get('/health/ready', (c) => (isDraining() ? draining(c) : c.json({ status: 'ok' })))

  routes.get('/health/live', (c) => c.json({ status: 'ok' }))

  return routes
}

function draining(c: Context<{ Variables: RequestVariables }>): Response {
  c.var.wide['draining'] = true
  return c.json({ status: 'fail' }, 503)
}

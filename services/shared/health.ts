import { Hono } from 'hono'
import { toError } from './errors.ts'
import type { RequestVariables } from './log.ts'

export interface HealthDeps {
  /** Rejects when the database does not answer. */
  readonly ping: () => Promise<void>
  readonly isDraining: () => boolean
}

/** `GET /health`: can this pod serve (SPEC 4.2)? `GET /health/live`: is the process up? Both anonymous. */
export function healthRoutes({
  ping,
  isDraining,
}: HealthDeps): Hono<{ Variables: RequestVariables }> {
  const routes = new Hono<{ Variables: RequestVariables }>()

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

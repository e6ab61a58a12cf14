import { Hono } from 'hono'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { serve } from './serve.ts'
import type { ServeOptions, Service } from './serve.ts'

/** A registry of one service's metrics, with those of the Node process in it. */
export function createMetrics(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

/** `GET /metrics` in the Prometheus text format (SPEC 4.6). */
export function metricsApp(registry: Registry): Hono {
  const app = new Hono()
  app.get('/metrics', async () => {
    const body = await registry.metrics()
    return new Response(body, { headers: { 'content-type': registry.contentType } })
  })
  return app
}

/** Serves the metrics on a port of their own, where no visitor comes; without a port nowhere. */
export async function serveMetrics(
  registry: Registry,
  { port, ...options }: Pick<ServeOptions, 'host' | 'log'> & { readonly port: number | undefined },
): Promise<Service | undefined> {
  if (port === undefined) return undefined
  return serve({ ...options, port, fetch: metricsApp(registry).fetch })
}

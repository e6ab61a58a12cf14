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

/** A service that serves its metrics, too. */
export interface MeteredService extends Service {
  /** Absent without METRICS_PORT. */
  readonly metricsUrl?: string
}

interface MeteredOptions extends ServeOptions {
  readonly registry: Registry
  /** The metrics are served nowhere without one. */
  readonly metricsPort: number | undefined
  /** Closes what the service uses: after its stop, and when it cannot start. */
  readonly close: () => Promise<unknown>
}

/**
 * Serves a service, and its metrics on a port of their own, where no visitor comes. Raises
 * `invalid_configuration` when a port cannot be had.
 */
export async function serveWithMetrics(metered: MeteredOptions): Promise<MeteredService> {
  const { registry, metricsPort, close, ...options } = metered
  const { host = '0.0.0.0', log } = options
  let metrics: Service | undefined
  const closeAll = () => Promise.all([close(), metrics?.stop()])
  try {
    if (metricsPort !== undefined) {
      metrics = await serve({ port: metricsPort, host, log, fetch: metricsApp(registry).fetch })
    }
    const service = await serve(options)
    return {
      url: service.url,
      ...(metrics ? { metricsUrl: metrics.url } : {}),
      async stop() {
        await service.stop()
        await closeAll()
      },
    }
  } catch (thrown) {
    await closeAll()
    throw thrown
  }
}

import { Hono } from 'hono'
import type { Registry } from 'prom-client'
import { AppError, toError } from '../shared/errors.ts'
import { requestLog } from '../shared/log.ts'
import type { Log, RequestVariables } from '../shared/log.ts'
import { metricsApp } from '../shared/http/metrics.ts'
import { problemResponse } from '../shared/http/problem.ts'
import type { QueueSize } from '../platform/runs/queue-size.ts'

interface AppDeps {
  readonly log: Log
  readonly registry: Registry
  /** False when the loop hangs: then the worker has to be restarted. */
  readonly isAlive: () => boolean
  /** Rejects with the reason why this worker takes no runs at the moment. */
  readonly check: () => Promise<void>
  /** Rejects while the database is unavailable. */
  readonly queue: () => Promise<QueueSize>
}

/** The HTTP surface of a worker: `/health`, `/health/live`, `/metrics` and `/queue`. */
export function createApp({ log, registry, isAlive, check, queue }: AppDeps) {
  const app = new Hono<{ Variables: RequestVariables }>()
  app.use(requestLog(log))
  app.get('/health/live', (c) => {
    c.header('cache-control', 'no-store')
    return isAlive() ? c.json({ status: 'ok' }) : c.json({ status: 'fail' }, 503)
  })
  app.get('/health', async (c) => {
    c.header('cache-control', 'no-store')
    try {
      if (!isAlive()) throw new Error('the loop hangs')
      await check()
      return c.json({ status: 'ok' })
    } catch (thrown) {
      c.get('wide')['reason'] = toError(thrown).message
      return c.json({ status: 'fail' }, 503)
    }
  })
  app.route('/', metricsApp(registry))
  // For an autoscaler. Without a number it keeps the workers that there are; a metric would say
  // NaN, which it takes for none.
  app.get('/queue', async (c) => {
    c.header('cache-control', 'no-store')
    const size = await queue().catch((cause: unknown) => {
      throw new AppError('unavailable', 'The queue cannot be read.', { cause })
    })
    return c.json(toLoad(size))
  })
  app.notFound((c) =>
    problemResponse(new AppError('not_found', 'There is nothing here.'), c.get('requestId')),
  )
  app.onError((error, c) => {
    log.error({ err: error }, 'request failed')
    return problemResponse(error, c.get('requestId'))
  })
  return app
}

/** The queue by which workers are scaled: without the runs that more workers could not take. */
const toLoad = ({ due, heldBack, running, startableSeconds }: QueueSize) => ({
  runs: due - heldBack + running,
  waiting: due - heldBack,
  running,
  oldest_seconds: startableSeconds,
})

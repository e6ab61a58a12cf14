import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { HealthReport } from '../store/health.ts'
import type { IngestDeps } from './ingest.ts'
import { MEDIA_TYPE, statusBody } from '../otlp/answer.ts'
import { GRPC_CODES, grpcCodeOf } from '../otlp/grpc-codes.ts'
import { createReadApp } from '../read/read-app.ts'
import type { ReadDeps } from '../read/read-app.ts'
import { noteRefusal, onlyTraces } from '../otlp/refusals.ts'
import { encodingOf, retryHeader, takeTraces, TRACES } from './traces-endpoint.ts'

interface AppDeps extends IngestDeps {
  readonly healthReport: () => HealthReport
  readonly read: Omit<ReadDeps, 'authorize' | 'metrics' | 'log'>
}

type App = { Bindings: HttpBindings }

/**
 * OTLP over HTTP and the health check (SPEC 4.6); both are served at once, before the database is
 * there.
 */
export function createApp(deps: AppDeps): Hono<App> {
  const app = new Hono<App>()
  // Only for addresses that the listener does not know, such as one with a query.
  app.post(TRACES, async (c) => {
    await takeTraces(deps, c.env)
    return RESPONSE_ALREADY_SENT
  })
  app.all(TRACES, (c) =>
    answer(c, { code: GRPC_CODES.unimplemented, status: 405, message: 'Only POST is allowed.' }),
  )
  app.route('/api', createReadApp({ ...deps, ...deps.read }))
  app.get('/health', (c) => {
    const report = deps.healthReport()
    const isServing = report.status === 'ok' || report.status === 'degraded'
    return c.json(report, isServing ? 200 : 503, { 'cache-control': 'no-store' })
  })
  for (const signal of ['logs', 'metrics']) {
    app.all(`/v1/${signal}`, (c) => refuseSignal(deps, c, signal))
  }
  app.notFound((c) =>
    answer(c, { code: GRPC_CODES.notFound, status: 404, message: 'There is nothing here.' }),
  )
  app.onError((error, c) => refuse(deps, c, error))
  return app
}

function refuse(deps: AppDeps, c: Context<App>, thrown: unknown): Response {
  const { status, message, headers } = noteRefusal(deps, thrown)
  const all = { ...headers, ...retryHeader(status) }
  return answer(c, { code: grpcCodeOf(status), status, message, headers: all })
}

function refuseSignal({ metrics }: AppDeps, c: Context<App>, signal: string): Response {
  metrics.refused.inc({ reason: 'not_traces' })
  return answer(c, { code: GRPC_CODES.unimplemented, status: 404, message: onlyTraces(signal) })
}

interface Refusal {
  readonly code: number
  readonly status: ContentfulStatusCode
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A google.rpc.Status in the encoding of the request (OTLP 1.11, "Failures"). */
function answer(c: Context<App>, { code, status, message, headers = {} }: Refusal): Response {
  const encoding = encodingOf(c.env.incoming) ?? 'json'
  const allow: Record<string, string> = status === 405 ? { allow: 'POST' } : {}
  const body = toBytes(statusBody(encoding, { code, message }))
  return c.body(body, status, { ...allow, ...headers, 'content-type': MEDIA_TYPE[encoding] })
}

const toBytes = (body: Buffer | string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(typeof body === 'string' ? Buffer.from(body) : body)

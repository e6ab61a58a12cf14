import { Hono } from 'hono'
import type { Env } from 'hono'
import type { WebApp, WebDeps, WebOptions } from '../../context.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import { describeApi } from './describe-api.ts'
import { describing } from './operation.ts'
import type { ApiDocument, Operation } from './operation.ts'
import * as s from './parts.ts'

const operation = describing({ tag: 'Platform' })
const health = s.document('Health', { status: s.words(['ok', 'fail']) })
const HEALTH: Readonly<Record<string, Operation>> = {
  '/health': operation(
    'health',
    'Whether the service and its database answer, for load balancers',
    {
      200: ['They do.', health],
      503: ['The database does not answer, or the service stops.', health],
    },
  ),
  '/health/ready': operation('ready', 'Whether the service takes calls', {
    200: ['It does.', health],
    503: ['It stops.', health],
  }),
  '/health/live': operation('live', 'Whether the service is up', { 200: ['It is.', health] }),
}

/** Marks the routes of the health, which all services have. */
export function declareHealth<Of extends Env>(routes: Hono<Of>): Hono<Of> {
  const marked = new Hono<Of>()
  for (const { method, path } of routes.routes) {
    marked.on(method, path, declareRight('anybody', HEALTH[path]))
  }
  return marked.route('/', routes)
}

/** Creates what describes the APIs of an app, once all of its routes are mounted. */
export function createApis(
  { config }: Pick<WebOptions, 'config'>,
  appOf: () => Pick<Hono<WebApp>, 'routes'>,
): () => ApiDocument {
  let known: ApiDocument | undefined
  return () => (known ??= describeApi(config, appOf().routes))
}

const describe = operation('describeApi', 'This document', {
  200: {
    description: 'OpenAPI 3.1.',
    headers: s.cached,
    content: { 'application/json': { schema: { type: 'object', additionalProperties: true } } },
  },
})

/**
 * Mounts `GET /openapi.json`: all APIs, for generators of clients. Discloses nothing of what is
 * deployed.
 */
export function openApiRoutes({ apis }: WebDeps): Hono<WebApp> {
  const routes = new Hono<WebApp>()
  // More than a megabyte, which is the same for all who ask.
  let document: string | undefined
  routes.get('/openapi.json', declareRight('anybody', describe), (c) => {
    c.header('cache-control', 'public, max-age=300')
    c.header('content-type', 'application/json')
    return c.body((document ??= JSON.stringify(apis())))
  })
  return routes
}

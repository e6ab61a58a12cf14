import { Hono } from 'hono'
import type { WebApp, WebDeps } from '../../context.ts'
import { describeApi } from './describe-api.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'

/**
 * Mounts `GET /openapi.json`: all APIs, for generators of clients. Discloses nothing of what is
 * deployed.
 */
export function openApiRoutes({ config }: WebDeps): Hono<WebApp> {
  const routes = new Hono<WebApp>()
  // More than a megabyte, which is the same for all who ask.
  let document: string | undefined
  routes.get('/openapi.json', declareRight('anybody'), (c) => {
    c.header('cache-control', 'public, max-age=300')
    c.header('content-type', 'application/json')
    return c.body((document ??= JSON.stringify(describeApi(config))))
  })
  return routes
}

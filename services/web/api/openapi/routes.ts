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
  const document = describeApi(config)
  routes.get('/openapi.json', declareRight('anybody'), (c) => {
    c.header('cache-control', 'public, max-age=300')
    return c.json(document)
  })
  return routes
}

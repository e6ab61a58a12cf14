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
  let document: ReturnType<typeof describeApi> | undefined
  routes.get('/openapi.json', declareRight('anybody'), (c) => {
    c.header('cache-control', 'public, max-age=300')
    return c.json((document ??= describeApi(config)))
  })
  return routes
}

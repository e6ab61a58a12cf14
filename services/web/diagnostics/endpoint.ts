import { Hono } from 'hono'
import type { WebApp, WebDeps } from '../context.ts'
import { identify, isAvailable, isCrossSite } from './access.ts'
import type { Diagnostics } from './create-diagnostics.ts'
import { HTTP_STATUS } from './report.ts'
import { answerNotFound } from '../http/errors.ts'
import { declareRight } from '../gate/callers/declared-right.ts'

/** `GET /health/debug`: the diagnostic report, hidden from everybody else (SPEC 4.1, 5.1). */
export function healthDebugRoutes(deps: WebDeps, { diagnoses }: Diagnostics): Hono<WebApp> {
  const routes = new Hono<WebApp>()
  routes.get('/health/debug', declareRight('platform-admin'), async (c) => {
    const identity = await identify(c, deps)
    if (!identity || !isAvailable(deps.config) || isCrossSite(c)) return answerNotFound(c)
    const { report } = await diagnoses.start().done
    Object.assign(c.var.wide, { audit: 'health_debug', identity, verdict: report.status })
    return c.json(report, HTTP_STATUS[report.status], {
      'cache-control': 'no-store',
      vary: 'Cookie, X-Platform-Debug-Token, Sec-Fetch-Site',
    })
  })
  return routes
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Hono } from 'hono'
import { healthRoutes } from '../shared/http/health.ts'
import { requestLog } from '../shared/log.ts'
import type { Log, RequestVariables } from '../shared/log.ts'
import { checkRequest } from './check-request.ts'
import { passOn, refuse } from './pass-on.ts'

interface GateDeps {
  readonly url: string
  readonly key: string | undefined
  readonly log: Log
  /** Resolves when the registry answers. */
  readonly ping: () => Promise<void>
  readonly isDraining: () => boolean
}

/** Builds the gate: what is for the registry, and its own health. */
export function createApp(deps: GateDeps) {
  const app = new Hono<{ Variables: RequestVariables }>()
  app.use(requestLog(deps.log))
  app.route('/', healthRoutes(deps))
  const { key } = deps
  return {
    fetch: app.fetch,
    direct: (incoming: IncomingMessage, outgoing: ServerResponse): boolean => {
      const { method = '', url = '', headers } = incoming
      if (!url.startsWith('/v2')) return false
      const { authorization } = headers
      const decision = checkRequest(key, { method, url, authorization })
      if ('path' in decision) passOn(deps, decision.path, { incoming, outgoing })
      else refuse(outgoing, decision)
      return true
    },
  }
}

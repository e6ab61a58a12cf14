import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Hono } from 'hono'
import { healthRoutes } from '../shared/http/health.ts'
import { requestLog } from '../shared/log.ts'
import type { Log, RequestVariables } from '../shared/log.ts'
import { checkRequest } from './check-request.ts'
import { request as httpRequest } from 'node:http'
import { pipeline } from 'node:stream'
import { toError } from '../shared/errors.ts'

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

/** A layer may be large, and must not stand still. */
const IDLE_MS = 60_000
/** Of one connection, so that the next one has its own. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade'])

/** Passes a request on to the registry, and its answer back, as they come. */
function passOn(
  { url, log }: { readonly url: string; readonly log: Log },
  path: string,
  { incoming, outgoing }: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse },
): void {
  const { method = 'GET' } = incoming
  const headers = withoutHops(incoming.headers)
  delete headers['authorization']
  const call = httpRequest(new URL(path, url), { method, headers, timeout: IDLE_MS })
  call.once('timeout', () => call.destroy(new Error(`nothing came for ${IDLE_MS} ms`)))
  call.once('response', (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, withoutHops(answer.headers))
    // Each of them ends the other one; who asked sees it at the length.
    pipeline(answer, outgoing, () => {})
  })
  call.once('error', (thrown) => {
    log.warn({ reason: toError(thrown).message, method }, 'the registry did not answer')
    if (outgoing.headersSent) outgoing.destroy()
    else refuse(outgoing, { status: 502, code: 'UNKNOWN', message: 'the registry is unavailable' })
  })
  pipeline(incoming, call, () => {})
}

function withoutHops(headers: IncomingMessage['headers']): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)))
}

/** Refuses a request as a registry does. */
function refuse(
  outgoing: ServerResponse,
  refused: { readonly status: number; readonly code: string; readonly message: string },
): void {
  const { status, code, message } = refused
  outgoing.writeHead(status, {
    'content-type': 'application/json',
    'docker-distribution-api-version': 'registry/2.0',
    ...(status === 401 ? { 'www-authenticate': 'Basic realm="registry"' } : {}),
  })
  outgoing.end(JSON.stringify({ errors: [{ code, message }] }))
}

import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { request as httpRequest } from 'node:http'
import { pipeline } from 'node:stream'
import { timingSafeEqual } from 'node:crypto'
import { Hono } from 'hono'
import { healthRoutes } from '../shared/http/health.ts'
import { requestLog } from '../shared/log.ts'
import type { Log, RequestVariables } from '../shared/log.ts'
import { toError } from '../shared/errors.ts'
import {
  REGISTRY_ACTIONS,
  registryCredential,
  repositoriesOf,
} from '../shared/registry-credentials.ts'
import type { RegistryAction } from '../shared/registry-credentials.ts'

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

/** A request as far as the gate decides by it. */
interface GatedRequest {
  readonly method: string
  /** Path and query, as they were sent. */
  readonly url: string
  readonly authorization: string | undefined
}

/** What becomes of a request: it goes on with this path and query, or is refused. */
type GateDecision =
  | { readonly path: string }
  | {
      readonly status: 401 | 403
      readonly code: 'UNAUTHORIZED' | 'DENIED'
      readonly message: string
    }

interface Caller {
  readonly organization: string
  readonly action: RegistryAction
}

/** Repositories, digests, tags and uploads need no other characters. */
const PLAIN_PATH = /^\/v2\/(?:[A-Za-z0-9_.:=-]+\/)*[A-Za-z0-9_.:=-]*$/

const denied = (message: string): GateDecision => ({ status: 403, code: 'DENIED', message })

/**
 * Decides about a request to the registry: a credential of an organization reaches the repositories
 * of that one alone, and one for pulls only reads.
 */
function checkRequest(key: string | undefined, request: GatedRequest): GateDecision {
  const caller = key === undefined ? undefined : findCaller(key, request.authorization)
  if (!caller) {
    return {
      status: 401,
      code: 'UNAUTHORIZED',
      message: 'a credential of an organization is needed',
    }
  }
  const [path = '', query = ''] = request.url.split('?')
  if (!PLAIN_PATH.test(path) || /(^|\/)\.\.?(\/|$)/.test(path)) {
    return denied('the path is none of a registry')
  }
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (!isRead && caller.action === 'pull') return denied('this credential only pulls')
  if (path === '/v2/') return { path }
  if (!path.startsWith(`/v2/${caller.organization}/`)) {
    return denied(`repositories of this credential begin with ${caller.organization}/`)
  }
  return { path: path + ownQuery(query, caller) }
}

/** A layer may be taken over from repositories of the same organization only. */
function ownQuery(query: string, { organization }: Caller): string {
  const parameters = new URLSearchParams(query)
  const from = parameters.get('from')
  if (from !== null && !from.startsWith(`${organization}/`)) {
    // As the registry does it: the layer is uploaded instead.
    parameters.delete('from')
    parameters.delete('mount')
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

function findCaller(key: string, authorization = ''): Caller | undefined {
  const [, encoded = ''] = /^Basic ([A-Za-z0-9+/=]{1,400})$/i.exec(authorization) ?? []
  const [username = '', password = ''] = Buffer.from(encoded, 'base64').toString().split(':')
  const [, id = '', word = ''] = /^org-(\d{1,10})-(pull|push)$/.exec(username) ?? []
  const action = REGISTRY_ACTIONS.find((each) => each === word)
  if (action === undefined) return undefined
  const expected = Buffer.from(registryCredential(key, Number(id), action).password)
  const given = Buffer.from(password)
  const isRight = given.length === expected.length && timingSafeEqual(given, expected)
  return isRight ? { organization: repositoriesOf(Number(id)), action } : undefined
}

import { randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import { routePath } from 'hono/route'
import { pino, stdTimeFunctions } from 'pino'
import type { DestinationStream, Logger } from 'pino'

export type Log = Logger

export interface LogOptions {
  /** The service: `web`, `worker`, … */
  readonly name: string
  readonly level?: string
  /** @default standard output */
  readonly destination?: DestinationStream
}

const SECRETS = [
  'authorization',
  'cookie',
  'password',
  'token',
  'secret',
  'apiKey',
  'x-platform-debug-token',
]
// pino matches exact places: the top level and one level down are where our code puts objects.
const REDACTED = SECRETS.flatMap((name) => [`["${name}"]`, `*["${name}"]`])

/** A JSON log of one service. Fields with the names of credentials are replaced before they are written. */
export function createLog({ name, level = 'info', destination }: LogOptions): Log {
  const options = {
    level,
    redact: { paths: REDACTED, censor: '[redacted]' },
    base: { service: name },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** Facts that handlers add to the one line a request leaves in the log. */
export type Wide = Record<string, string | number | boolean | undefined>
export interface RequestVariables {
  requestId: string
  wide: Wide
}

const QUIET = new Set(['/health', '/health/live', '/metrics'])

/** One wide line per request; probes that succeed are written at `debug`. */
export function requestLog(log: Log): MiddlewareHandler<{ Variables: RequestVariables }> {
  return async function logRequest(c, next) {
    const started = performance.now()
    const requestId = acceptableId(c.req.header('x-request-id')) ?? randomUUID()
    const wide: Wide = {}
    c.set('requestId', requestId)
    c.set('wide', wide)
    await next()
    const line = {
      request_id: requestId,
      method: c.req.method,
      route: routePath(c, -1),
      status: c.res.status,
      duration_ms: Math.round(performance.now() - started),
      ...wide,
    }
    log[levelOf(c.res.status, c.req.path)](line, 'request')
  }
}

function acceptableId(given: string | undefined): string | undefined {
  return given && /^[\w.-]{8,128}$/.test(given) ? given : undefined
}

function levelOf(status: number, path: string): 'error' | 'debug' | 'info' {
  if (status >= 500) return 'error'
  return status < 400 && QUIET.has(path) ? 'debug' : 'info'
}

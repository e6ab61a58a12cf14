import { randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import { routeOf } from './http/route-of.ts'
import { pino, stdSerializers, stdTimeFunctions } from 'pino'
import type { DestinationStream, Logger } from 'pino'
import { isObject } from './is-object.ts'

/** The log of a service: one JSON object a line. */
export type Log = Logger

interface LogOptions {
  /** The service: `web`, `worker`, … */
  readonly name: string
  readonly level?: string
  /** @default standard output */
  readonly destination?: DestinationStream
}

const SECRETS = new Set([
  'authorization',
  'cookie',
  'password',
  'token',
  'secret',
  'apiKey',
  'x-platform-debug-token',
])
const CENSOR = '[redacted]'

/**
 * Looks where our code puts objects: at the top and one level down. The redaction of pino costs
 * five times the line.
 */
function redact<Value>(value: Value, levels = 2): Value {
  if (!isObject(value) || levels === 0) return value
  let shown = value
  for (const [name, field] of Object.entries(value)) {
    // `err` comes by again when it is serialized.
    const safe = SECRETS.has(name) ? CENSOR : name === 'err' ? field : redact(field, levels - 1)
    if (safe !== field) shown = { ...shown, [name]: safe }
  }
  return shown
}

/**
 * Creates the JSON log of one service. Fields with the names of credentials are replaced before
 * they are written.
 */
export function createLog({ name, level = 'info', destination }: LogOptions): Log {
  const options = {
    level,
    base: { service: name },
    timestamp: stdTimeFunctions.isoTime,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: Record<string, unknown>) => redact(fields),
    },
    // For what a child always tells, which no formatter sees.
    redact: { paths: [...SECRETS].map((name) => `["${name}"]`), censor: CENSOR },
    serializers: { err: (error: Error) => redact(stdSerializers.err(error), 1) },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** Facts that handlers add to the one line a request leaves in the log. */
export type Wide = Record<string, string | number | boolean | undefined>
/** The variables of each request in Hono. */
export interface RequestVariables {
  requestId: string
  wide: Wide
}

const QUIET = new Set(['/health', '/health/live', '/health/ready', '/metrics'])

/** One wide line per request; probes that succeed are written at `debug`. */
export function requestLog(log: Log): MiddlewareHandler<{ Variables: RequestVariables }> {
  return async function logRequest(c, next) {
    const started = performance.now()
    const requestId = acceptableId(c.req.header('x-request-id')) ?? randomUUID()
    const wide: Wide = {}
    c.set('requestId', requestId)
    c.set('wide', wide)
    await next()
    const { status } = c.res
    const level = levelOf(status, c.req.path, wide)
    if (!log.isLevelEnabled(level)) return
    const line = {
      request_id: requestId,
      method: c.req.method,
      route: routeOf(c),
      status,
      duration_ms: Math.round(performance.now() - started),
      ...wide,
    }
    log[level](line, 'request')
  }
}

function acceptableId(given: string | undefined): string | undefined {
  return given && /^[\w.-]{8,128}$/.test(given) ? given : undefined
}

function levelOf(status: number, path: string, wide: Wide): 'error' | 'debug' | 'info' {
  // A pod that is about to end says so to its probes, and nobody has to do anything.
  if (wide['draining'] === true) return 'debug'
  if (status >= 500) return 'error'
  return status < 400 && QUIET.has(path) ? 'debug' : 'info'
}

import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { AppError, toError } from '../errors.ts'
import type { Log } from '../log.ts'
import { endStalledBodies } from './stalled-bodies.ts'

/** A service that listens, as every `start` returns it. */
export interface Service {
  readonly url: string
  /** The longest that a stop takes; the process ends then in any case. @default 25_000 */
  readonly stopMs?: number
  stop(): Promise<void>
}

/** The handler of a service, where it listens, and its limits. */
export interface ServeOptions {
  readonly fetch: (request: Request, env: unknown) => Response | Promise<Response>
  /** Sees every request first; returns false for those that `fetch` answers. */
  readonly direct?: (incoming: IncomingMessage, outgoing: ServerResponse) => boolean
  /** 0 lets the system choose. */
  readonly port: number
  /** @default '0.0.0.0' */
  readonly host?: string
  readonly log: Log
  /**
   * The time for which a stopping service still takes requests, while its Kubernetes Service
   * forgets it. @default 0
   */
  readonly lingerMs?: number
  /** The time that open requests have to finish when the service stops. @default 10_000 */
  readonly drainMs?: number
  /**
   * Reads and drops the rest of a body that the handler did not read, so that its sender gets to
   * see the response; otherwise the connection is cut half a second after that. @default false
   */
  readonly discardUnreadBodies?: boolean
  /** The longest that a whole request may take to arrive. @default 30_000 */
  readonly requestTimeoutMs?: number
  /** The longest that a body may stand still while it arrives. @default 10_000 */
  readonly bodyIdleMs?: number
  /** The bytes of a body that arrive within that time at least, or all that is left. @default 1 */
  readonly bodyBytesMin?: number
  /**
   * Sees the server before it listens, for what Node offers only there, such as `checkContinue`.
   */
  readonly configure?: (server: Server) => void
  /** Runs at the start of a stop, before the listener closes. */
  readonly onDrain?: () => void
}

/**
 * Longer than the 5 s between two exports of an OpenTelemetry SDK: none meets a closing connection.
 */
const KEEP_ALIVE_MS = 75_000
/** Node exchanges the two limits when the one for the head is the longer one. */
const HEAD_MS = 10_000
const REQUEST_MS = 30_000
const BODY_IDLE_MS = 10_000
/** The time between two looks of Node for requests that are over their limits. */
const CHECK_MS = 5000

/**
 * Listens, and resolves when connections are accepted. Raises `invalid_configuration` when the port
 * cannot be had.
 */
export async function serve(options: ServeOptions): Promise<Service> {
  const { port, host = '0.0.0.0', log } = options
  const server = createServer(options)
  options.configure?.(server)
  const closeUnused = trackUnused(server)
  await listen(server, port, host)
  const { port: bound } = server.address() as AddressInfo
  log.info({ port: bound }, 'listening')
  return {
    url: `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${bound}`,
    stop: () => drain({ server, closeUnused }, options),
  }
}

function createServer(options: ServeOptions): Server {
  const { fetch, requestTimeoutMs = REQUEST_MS } = options
  // Node itself discards unread bodies, until `requestTimeout`.
  const autoCleanupIncoming = options.discardUnreadBodies !== true
  const listener = getRequestListener(fetch, { autoCleanupIncoming })
  const limits = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: Math.min(HEAD_MS, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: CHECK_MS,
  }
  const server = createHttpServer(limits, (incoming, outgoing) => {
    if (options.direct?.(incoming, outgoing) !== true) void listener(incoming, outgoing)
  })
  const { bodyIdleMs: idleMs = BODY_IDLE_MS, bodyBytesMin: bytesMin = 1 } = options
  endStalledBodies(server, { idleMs, bytesMin })
  return server
}

/**
 * Node counts a connection that never sent a request as busy: a client that connects ahead would
 * hold up each stop.
 */
function trackUnused(server: Server): () => void {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return function closeUnused() {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  }
}

/** Opens the port. Raises `invalid_configuration` when it cannot be had. */
export async function listen(server: NetServer, port: number, host: string): Promise<void> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (thrown) {
    const cause = toError(thrown)
    const why =
      'code' in cause && cause.code === 'EADDRINUSE'
        ? 'is in use by another program'
        : `cannot be opened (${cause.message})`
    throw new AppError(
      'invalid_configuration',
      `Port ${port} on ${host} ${why}. Stop that program or choose another port.`,
      { cause },
    )
  }
}

/** Else a client that keeps its connection would send its next request into a closing one. */
function endAfterResponse(_request: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = false
}

/** Stops accepting, lets open requests end, and cuts what is left after `drainMs`. */
async function drain(
  { server, closeUnused }: { server: Server; closeUnused: () => void },
  { lingerMs = 0, drainMs = 10_000, onDrain, log }: ServeOptions,
): Promise<void> {
  onDrain?.()
  server.prependListener('request', endAfterResponse)
  if (lingerMs > 0) await delay(lingerMs)
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  // A kept-alive connection becomes idle after its last response, and would hold the stop for 75 s.
  const sweep = setInterval(() => {
    server.closeIdleConnections()
    closeUnused()
  }, 20)
  const cut = setTimeout(() => {
    log.warn({ drain_ms: drainMs }, 'requests still open after the drain time; closing them')
    server.closeAllConnections()
  }, drainMs)
  await closed
  clearInterval(sweep)
  clearTimeout(cut)
}

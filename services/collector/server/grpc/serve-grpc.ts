import { once } from 'node:events'
import { createSecureServer, createServer } from 'node:http2'
import type { Http2SecureServer, Http2Server, ServerHttp2Session } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { listen } from '../../../shared/http/serve.ts'
import type { Service } from '../../../shared/http/serve.ts'
import type { Log } from '../../../shared/log.ts'
import type { IngestDeps } from '../ingest.ts'
import { overBudget } from '../../otlp/refusals.ts'
import { followCertificate, readCertificate } from './certificate.ts'
import type { Call } from './delivery.ts'
import { createExports, refuse } from './exports.ts'
import {
  guardSession,
  MAX_CALL_MS,
  MAX_CONNECTIONS,
  MAX_OPEN_CALLS,
  SESSION_LIMITS,
} from './limits.ts'

const WARN_EVERY_MS = 60_000

const HTTP1_ADVICE =
  'a client speaks HTTP/1.1 on the port for gRPC; OTLP over HTTP is taken on the other port'

interface GrpcOptions {
  readonly deps: IngestDeps
  /** 0 lets the system choose. */
  readonly port: number
  readonly host: string
  /** With `tls.crt` and `tls.key`; without it the server speaks HTTP/2 in plain text. */
  readonly tlsDirectory: string | undefined
  /** How long open calls may take to finish when the server stops. @default 10_000 */
  readonly drainMs?: number
}

/** A running gRPC server. */
export interface GrpcServer extends Service {
  readonly port: number
}

type AnyServer = Http2Server | Http2SecureServer

const TLS = { minVersion: 'TLSv1.2', handshakeTimeout: 10_000 } as const
const DRAIN_MS = 10_000

/** Serves OTLP/gRPC: unary calls of `TraceService/Export` (OTLP 1.x, "OTLP/gRPC"). */
export async function serveGrpc(options: GrpcOptions): Promise<GrpcServer> {
  const { deps, port, host, tlsDirectory, drainMs = DRAIN_MS } = options
  const server = await createHttp2Server(tlsDirectory, deps.log)
  server.maxConnections = MAX_CONNECTIONS
  const open = trackOpen(server)
  server.on('session', guardSession)
  warnOfHttp1(server, deps)
  answerCalls(server, deps)
  await listen(server, port, host)
  const { port: bound } = server.address() as AddressInfo
  deps.log.info({ port: bound, tls: tlsDirectory !== undefined }, 'listening for gRPC')
  const shown = host === '0.0.0.0' ? '127.0.0.1' : host
  return {
    port: bound,
    url: `${tlsDirectory === undefined ? 'http' : 'https'}://${shown}:${bound}`,
    stop: () => drain(server, { ...open, drainMs, log: deps.log }),
  }
}

async function createHttp2Server(directory: string | undefined, log: Log): Promise<AnyServer> {
  if (directory === undefined) return createServer(SESSION_LIMITS)
  const certificate = await readCertificate(directory)
  const server = createSecureServer({ ...SESSION_LIMITS, ...TLS, ...certificate })
  followCertificate({ server, directory, certificate, log })
  return server
}

/** Hands in calls, of which only so many are open at a time, and each only for so long. */
function answerCalls(server: AnyServer, deps: IngestDeps): void {
  const answer = createExports(deps)
  let open = 0
  const take = (call: Call): void => {
    const { stream } = call
    // A client that disconnects is no failure of ours; what it was doing sees the stream close.
    stream.on('error', () => {})
    const limit = setTimeout(() => stream.destroy(), MAX_CALL_MS)
    open++
    stream.once('close', () => {
      open--
      clearTimeout(limit)
    })
    if (open > MAX_OPEN_CALLS) refuse(deps, call, overBudget())
    else answer(call)
  }
  server.on('stream', (stream: Call['stream'], headers: Call['headers'], ...[, rawHeaders]: Raw) =>
    take({ stream, headers, rawHeaders }),
  )
}

/** The flags of a stream, and its headers as they came, which the types of Node lack. */
type Raw = [flags: number, rawHeaders: readonly string[]]

interface Open {
  readonly sockets: ReadonlySet<Socket>
  readonly sessions: ReadonlySet<ServerHttp2Session>
}

function trackOpen(server: AnyServer): Open {
  const sockets = new Set<Socket>()
  const sessions = new Set<ServerHttp2Session>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
  })
  return { sockets, sessions }
}

/** Sends GOAWAY, lets open calls end, and cuts what is left after `drainMs`. */
async function drain(
  server: AnyServer,
  { sockets, sessions, drainMs, log }: Open & { drainMs: number; log: Log },
): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  for (const session of sessions) session.close()
  const cut = setTimeout(() => {
    log.warn({ drain_ms: drainMs }, 'calls still open after the drain time; closing them')
    for (const socket of sockets) socket.destroy()
  }, drainMs)
  await closed
  clearTimeout(cut)
}

/** Tells the operator, once a minute, of exporters that are set up for OTLP over HTTP. */
function warnOfHttp1(
  server: Http2Server | Http2SecureServer,
  { metrics, log }: Pick<IngestDeps, 'metrics' | 'log'>,
): void {
  let quietUntil = 0
  server.on('sessionError', (error) => {
    if (!error.message.includes('client magic')) return
    metrics.refused.inc({ reason: 'not_grpc' })
    if (performance.now() < quietUntil) return
    quietUntil = performance.now() + WARN_EVERY_MS
    log.warn(HTTP1_ADVICE)
  })
}

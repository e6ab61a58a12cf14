import { once } from 'node:events'
import { constants, createSecureServer, createServer } from 'node:http2'
import type {
  Http2SecureServer,
  Http2Server,
  ServerHttp2Session,
  ServerSessionOptions,
  SessionOptions,
} from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { listen } from '../../../shared/http/serve.ts'
import type { Service } from '../../../shared/http/serve.ts'
import type { Log } from '../../../shared/log.ts'
import type { IngestDeps } from '../ingest.ts'
import { noteRefusal, onlyTraces, overBudget } from '../../otlp/refusals.ts'
import { followCertificate, readCertificate } from './certificate.ts'
import type { Call } from './delivery.ts'
import { ingest } from '../ingest.ts'
import { GRPC_CODES, grpcCodeOf } from '../../otlp/grpc-codes.ts'
import { grpcDelivery } from './delivery.ts'
import { replyWith, replyWithError, replyWithStatus } from './reply.ts'

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

const TRACES = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
const SIGNALS: Readonly<Record<string, string>> = {
  '/opentelemetry.proto.collector.logs.v1.LogsService/Export': 'logs',
  '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export': 'metrics',
}
/** In protobuf, which is also what is meant when the type names no format. */
const MEDIA_TYPE = /^application\/grpc(\+proto)?(;|$)/i

/** Answers calls: spans over gRPC, with the same acknowledgement as over HTTP. */
function createExports(deps: IngestDeps): (call: Call) => void {
  return (call) => {
    const { stream, headers } = call
    if (headers[':method'] !== 'POST') return replyWithStatus(stream, 405)
    if (!MEDIA_TYPE.test(headers['content-type'] ?? '')) return replyWithStatus(stream, 415)
    const path = headers[':path'] ?? ''
    if (path === TRACES) return void takeExport(deps, call)
    if (SIGNALS[path]) deps.metrics.refused.inc({ reason: 'not_traces' })
    const message = SIGNALS[path] ? onlyTraces(SIGNALS[path]) : 'There is nothing here.'
    return replyWithError(stream, GRPC_CODES.unimplemented, message)
  }
}

async function takeExport(deps: IngestDeps, call: Call): Promise<void> {
  const { stream } = call
  try {
    const message = Buffer.from(await ingest(deps, grpcDelivery(call, deps.bodyIdleMs)))
    deps.metrics.calls.inc({ code: GRPC_CODES.ok })
    replyWith(stream, message)
  } catch (thrown) {
    refuse(deps, call, thrown)
  }
}

/** Refuses a call, as an exception of `ingest` demands. */
function refuse(deps: IngestDeps, { stream }: Call, thrown: unknown): void {
  const { status, message } = noteRefusal(deps, thrown)
  // An unknown compression, in the words of gRPC.
  const code = status === 415 ? GRPC_CODES.unimplemented : grpcCodeOf(status)
  deps.metrics.calls.inc({ code })
  replyWithError(stream, code, message)
}

/**
 * What one connection may do. Node itself ends those that flood it: with resets (1000, then 33 a
 * second), with more than 8 CONTINUATION frames to a head, or with more than 1000 frames that need
 * an acknowledgement while they do not read.
 */
const SESSION_LIMITS: SessionOptions & ServerSessionOptions & RejectionLimits = {
  settings: {
    maxConcurrentStreams: 100,
    /** Bytes of a body that come before anyone has asked for them. */
    initialWindowSize: 65_535,
    maxFrameSize: 16_384,
    maxHeaderListSize: 16_384,
  },
  maxHeaderListPairs: 64,
  maxSettings: 32,
  /** Megabytes for the state of a connection; a call that would need more is refused. */
  maxSessionMemory: 4,
  /** A connection with more is closed. */
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  unknownProtocolTimeout: 1000,
}

/** Node's options that its types lack. */
interface RejectionLimits {
  readonly maxSessionInvalidFrames: number
  readonly maxSessionRejectedStreams: number
}

/** Connections at a time; what comes beyond them is closed. */
const MAX_CONNECTIONS = 1000
/** Calls of all connections that are open at a time. */
const MAX_OPEN_CALLS = 2000
/** The longest that a call may take, from its head to the last byte of its answer. */
const MAX_CALL_MS = 30_000
/** Longer than the seconds between two exports, so that a connection serves many. */
const IDLE_MS = 300_000
const MAX_PINGS = 600
const PINGS_WITHIN_MS = 60_000

/** Closes a connection that is idle for long, and one that sends too many pings. */
function guardSession(session: ServerHttp2Session): void {
  session.setTimeout(IDLE_MS, () => session.close())
  let pings = 0
  let since = performance.now()
  session.on('ping', () => {
    if (performance.now() - since > PINGS_WITHIN_MS) {
      since = performance.now()
      pings = 0
    }
    if (++pings > MAX_PINGS) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  })
}

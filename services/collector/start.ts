import type { Server } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { HttpBindings } from '@hono/node-server'
import type { Registry } from 'prom-client'
import { databaseAddress, parseAddress } from '../shared/postgres/address.ts'
import type { EnvSource } from '../shared/env.ts'
import { createLog } from '../shared/log.ts'
import type { Log } from '../shared/log.ts'
import { createMetrics, metricsApp } from '../shared/http/metrics.ts'
import { serve } from '../shared/http/serve.ts'
import type { Service } from '../shared/http/serve.ts'
import { createLimit } from './server/ack-limit.ts'
import { createAdmission, defaultCapacity, SHARE_FOR_BODIES } from './server/admission.ts'
import { createApp } from './server/app.ts'
import { createAuthorization } from './tokens/authorization.ts'
import type { Authorization } from './tokens/authorization.ts'
import { openColdDays } from './store/archive/cold-days.ts'
import { createClock } from './store/clock.ts'
import type { Clock } from './store/clock.ts'
import { readConfig, secretsOf } from './env.ts'
import { ddlAddress } from './store/ddl-address.ts'
import type { CollectorConfig } from './env.ts'
import { createEventualStorage } from './eventual-storage.ts'
import type { EventualStorage, EventualStorageOptions } from './eventual-storage.ts'
import { serveGrpc } from './server/grpc/serve-grpc.ts'
import type { GrpcServer } from './server/grpc/serve-grpc.ts'
import { createEraser } from './store/erasures/erase-trace.ts'
import type { Eraser } from './store/erasures/erase-trace.ts'
import { createHealth } from './store/health.ts'
import type { HealthReport } from './store/health.ts'
import { createInflate } from './server/inflate.ts'
import type { IngestDeps } from './server/ingest.ts'
import { createMemory } from './otlp/memory.ts'
import { createCollectorMetrics, observe } from './observability/metrics.ts'
import { loadPrices } from '../shared/prices/load-prices.ts'
import { createReadMetrics } from './read/read-metrics.ts'
import { openAnswerReaders } from './read/answer-readers.ts'
import type { AnswerReaders } from './read/answer-readers.ts'
import { createReplica } from './store/replica.ts'
import type { Replica } from './store/replica.ts'
import { createRedaction } from './otlp/redaction/redaction.ts'
import type { Redaction } from './otlp/redaction/redaction.ts'
import { createRevocations } from './tokens/revocations.ts'
import { createForwarding } from './store/forwarding.ts'
import type { Forwarding } from './store/forwarding.ts'
import { createOwnPrices } from './store/own-prices.ts'
import type { OwnPrices } from './store/own-prices.ts'
import { createRevoker } from './tokens/revoker.ts'
import type { Revoker } from './tokens/revoker.ts'
import { createTracesListener } from './server/traces-endpoint.ts'
import { answerWrongProtocols } from './server/wrong-protocol.ts'

/** Parts that tests replace. */
export interface StartOptions {
  readonly log?: Log
  /** The pod's clock; milliseconds since 1970. @default Date.now */
  readonly now?: () => number
  /** PostgreSQL's. @default one that asks it */
  readonly clock?: Clock
  /**
   * How long a stopping collector still takes requests, while its Service forgets it.
   * @default 5_000
   */
  readonly drainMs?: number
  /** The collector's own file, from which the process that reads archived days is started. */
  readonly program?: string | undefined
  /** @default 8_000: within the ten seconds that exporters wait */
  readonly ackTimeoutMs?: number
  /** The time that a body may stand still before its memory is given to others. @default 5_000 */
  readonly bodyIdleMs?: number
  /** The interval at which the limit of the storage is checked. @default 15_000 */
  readonly spaceCheckMs?: number
  /** The interval at which the list of revoked tokens is read. @default 15_000 */
  readonly revocationsMs?: number
}

/** A running collector. */
export interface Collector extends Service {
  readonly metricsUrl: string
  /** Where OTLP/gRPC is spoken; undefined when it is off. */
  readonly grpcUrl: string | undefined
  /**
   * Resolves when the database is ready and submissions are taken. Stays pending while PostgreSQL
   * is unavailable.
   */
  readonly ready: Promise<void>
}

const DRAIN_MS = 5000
const ACK_TIMEOUT_MS = 8000
const BODY_IDLE_MS = 5000
const SPACE_CHECK_MS = 15_000
const REVOCATIONS_MS = 15_000

/**
 * Starts the trace collector: it serves `/health` at once, and takes submissions when the database
 * is ready.
 */
export async function start(source: EnvSource, options: StartOptions = {}): Promise<Collector> {
  const config = readConfig(source)
  const redaction = redactionOf(config)
  const log = options.log ?? createLog({ name: 'collector', level: config.LOG_LEVEL })
  const now = options.now ?? Date.now
  const clock = options.clock ?? createClock({ podNow: now, log })
  const address = databaseAddress(config)
  const registry = createMetrics()
  const metrics = createCollectorMetrics(registry)
  const health = createHealth({ log, now })
  const memory = createMemory(config.COLLECTOR_MEMORY_BYTES ?? defaultCapacity())
  const revocations = createRevocations()
  const authorization = createAuthorization({
    secrets: secretsOf(config),
    requireScopes: config.COLLECTOR_REQUIRE_SCOPES,
    revocations,
    now: clock.now,
    log,
  })
  const prices = await loadPrices(config.COLLECTOR_PRICES_FILE)
  const replica = replicaOf(config, { clock, log })
  const cold = openColdDays(config, { source, log, program: options.program })
  const readers = openAnswerReaders(ddlAddress(config), { replica, cold, log })
  const common = { config, address, log, now, clock, registry, metrics, health, memory }
  const eraser = createEraser(ddlAddress(config), { cold })
  const revoker = createRevoker(address, revocations)
  const ownPrices = createOwnPrices(address)
  const forwarding = createForwarding(address)
  const owners = { readers, eraser, revoker, ownPrices, forwarding, cold }
  const shared = { ...common, ...owners, prices, replica, revocations }
  const storage = createEventualStorage({ ...shared, ...intervalsOf(options), redaction })
  const parts = { ...shared, authorization, storage }
  observeParts(parts)

  const metricsServer = await serve({
    fetch: metricsApp(registry).fetch,
    port: config.METRICS_PORT,
    host: config.HOST,
    log,
  })
  const servers = await serveIngest(parts, options).catch(async (error: unknown) => {
    await metricsServer.stop()
    throw error
  })
  const ready = storage.prepare()
  return {
    url: servers.http.url,
    grpcUrl: servers.grpc?.url,
    metricsUrl: metricsServer.url,
    ready,
    async stop() {
      health.enter('draining')
      await delay(options.drainMs ?? DRAIN_MS)
      await Promise.all([servers.http.stop(), servers.grpc?.stop()])
      await storage.close()
      await Promise.all(Object.values(owners).map(async (owner) => owner?.close()))
      await metricsServer.stop()
    },
  }
}

type Intervals = Pick<EventualStorageOptions, 'spaceCheckMs' | 'revocationsMs'>

const intervalsOf = (options: StartOptions): Intervals => ({
  spaceCheckMs: options.spaceCheckMs ?? SPACE_CHECK_MS,
  revocationsMs: options.revocationsMs ?? REVOCATIONS_MS,
})

/** The parts of a collector. */
interface Parts extends Omit<EventualStorageOptions, keyof Intervals | 'redaction'> {
  readonly authorization: Authorization
  readonly registry: Registry
  readonly readers: AnswerReaders
  readonly eraser: Eraser
  readonly revoker: Revoker
  readonly ownPrices: OwnPrices
  readonly forwarding: Forwarding
  readonly storage: EventualStorage
}

/** The redaction that the variables ask for; undefined for none. */
const redactionOf = (config: CollectorConfig): Redaction | undefined =>
  createRedaction({
    redact: config.COLLECTOR_REDACT ?? [],
    file: config.COLLECTOR_REDACT_FILE,
    hashKey: config.COLLECTOR_REDACT_HASH_KEY,
  })

/** The replica that the variables name; undefined for none. */
const replicaOf = (
  { COLLECTOR_READ_DATABASE_URL: url }: CollectorConfig,
  parts: { clock: Clock; log: Log },
): Replica | undefined => (url === undefined ? undefined : createReplica(parseAddress(url), parts))

/** The arrival of the oldest row that is not committed; undefined without any. */
const oldestRow = ({ storage }: Parts): number | undefined =>
  storage.current()?.commit.state().oldest

function observeParts(parts: Parts): void {
  const { registry, health, memory, now, clock, authorization, storage } = parts
  observe(registry, {
    queueRows: () => storage.current()?.commit.state().rows ?? 0,
    queueBytes: () => memory.used(),
    capacityBytes: () => memory.capacity,
    oldestSeconds: () => {
      const oldest = oldestRow(parts)
      return oldest === undefined ? 0 : (now() - oldest) / 1000
    },
    databaseUp: () => health.databaseUp(),
    clockSkewSeconds: () => clock.skewMs() / 1000,
    replica: parts.replica,
    tokensExpiring: (seconds) => authorization.countExpiring(seconds),
  })
}

interface Servers {
  readonly http: Service
  readonly grpc: GrpcServer | undefined
}

/** Opens the ports where submissions come in. */
async function serveIngest(parts: Parts, options: StartOptions): Promise<Servers> {
  const { config } = parts
  const deps = ingestDeps(parts, options)
  const { HOST: host, GRPC_PORT: port, GRPC_TLS_DIRECTORY: tlsDirectory } = config
  const grpc = port === undefined ? undefined : await serveGrpc({ deps, port, host, tlsDirectory })
  const http = serveApp({ ...parts, deps, grpcPort: grpc?.port }).catch(async (error: unknown) => {
    await grpc?.stop()
    throw error
  })
  return { http: await http, grpc }
}

/** The parts that a submission passes through, whatever its transport. */
function ingestDeps(parts: Parts, options: StartOptions): IngestDeps {
  const { authorization, memory, health, metrics, log, clock, storage } = parts
  return {
    authorize: authorization.authorize,
    admit: createAdmission(memory),
    inflate: createInflate(),
    memory,
    health,
    metrics,
    log,
    clock,
    withinAckTime: createLimit(options.ackTimeoutMs ?? ACK_TIMEOUT_MS),
    bodyIdleMs: options.bodyIdleMs ?? BODY_IDLE_MS,
    commit: () => storage.current()?.commit,
    maxBodyBytes: largestBody(parts),
  }
}

type AppParts = Parts & { readonly deps: IngestDeps; readonly grpcPort: number | undefined }

function serveApp(parts: AppParts): Promise<Service> {
  const { config, log, metrics, registry, storage, grpcPort } = parts
  const app = createApp({
    ...parts.deps,
    healthReport: () => reportOf(parts),
    read: {
      ...parts,
      readMetrics: createReadMetrics(registry),
      isReady: () => storage.current() !== undefined,
      isDraining: () => parts.health.phase() === 'draining',
    },
  })
  return serve({
    // The Node adapter hands in the raw request and response.
    fetch: (request, env) => app.fetch(request, env as HttpBindings),
    // Before hono, whose objects for each request cost as much as all else that is done for it.
    direct: createTracesListener(parts.deps),
    port: config.PORT,
    host: config.HOST,
    log,
    configure(server) {
      keepContinueForApp(server)
      answerWrongProtocols(server, { metrics, log, grpcPort })
    },
    discardUnreadBodies: true,
  })
}

const reportOf = (parts: Parts): HealthReport =>
  parts.health.report({
    ...parts,
    bytes: parts.memory.used(),
    oldest: oldestRow(parts),
    search: parts.storage.search(),
  })

function largestBody({ config, memory, log }: Parts): number {
  const fitting = Math.floor(memory.capacity * SHARE_FOR_BODIES)
  if (fitting >= config.COLLECTOR_MAX_BODY_BYTES) return config.COLLECTOR_MAX_BODY_BYTES
  log.info({ max_body_bytes: fitting }, 'the memory limit lowers the largest body')
  return fitting
}

/** Node would send "100 Continue" before anyone has looked at the token. */
function keepContinueForApp(server: Server): void {
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
}

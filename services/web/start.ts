import type { HttpBindings } from '@hono/node-server'
import type { Registry } from 'prom-client'
import { connectDatabase } from '../shared/postgres/database.ts'
import { databaseAddress } from '../shared/postgres/address.ts'
import { listMigrations } from '../shared/postgres/migration-files.ts'
import { openDatabasePing } from '../shared/postgres/ping.ts'
import { readEnv } from '../shared/env.ts'
import type { EnvSource } from '../shared/env.ts'
import { createLog } from '../shared/log.ts'
import type { Log } from '../shared/log.ts'
import { createMetrics, serveWithMetrics } from '../shared/http/metrics.ts'
import type { MeteredService } from '../shared/http/metrics.ts'
import { inClusterAddress } from '../shared/kubernetes/client.ts'
import { loadPrices } from '../shared/prices/load-prices.ts'
import { countSpans } from '../shared/tracing/span-metrics.ts'
import { createSpanSender } from '../shared/tracing/span-sender.ts'
import { openTraceHolds } from '../shared/trace-holds.ts'
import type { SpanSender, SpanSenderOptions } from '../shared/tracing/span-sender.ts'
import { createApp } from './app.ts'
import { createAuthMetrics } from './gate/access-token/metrics.ts'
import { createLimitMetrics } from './gate/callers/limit-metrics.ts'
import { tokenProblem } from './diagnostics/access.ts'
import type { DiagnosticsDeps } from './diagnostics/deps.ts'
import { createDiagnosisMetrics } from './diagnostics/metrics.ts'
import { startAlertMails } from './mail/alert-mails.ts'
import { openMailer } from './mail/open-mailer.ts'
import { webEnv } from './env.ts'
import type { WebConfig } from './env.ts'
import { openTraces } from './traces/trace-reader.ts'
import { openOwnPrices } from './traces/own-prices.ts'
import { openTraceTokens } from './traces/trace-tokens.ts'

/** Enough for a tool of 64 MiB over a slow line. */
const UPLOAD_MS = 300_000
/** In each 10 s, so that no body that drips is held for that long. */
const BODY_BYTES_MIN = 10_240

/** Options of `start`. */
export interface StartOptions {
  readonly log?: Log
  /**
   * The time for which a stopping service still takes requests, with `/health` at 503. @default
   * 5_000
   */
  readonly lingerMs?: number
  /** Replaces what the diagnoses find by themselves. */
  readonly diagnostics?: Pick<DiagnosticsDeps, 'kubernetes' | 'limits'>
}

/**
 * Starts the web service. Raises `invalid_configuration`; without its database, only `/health`
 * fails.
 */
export async function start(
  source: EnvSource,
  options: StartOptions = {},
): Promise<MeteredService> {
  const config = readEnv(webEnv, source)
  const log = options.log ?? createLog({ name: 'web', level: config.LOG_LEVEL })
  const problem = tokenProblem(config)
  if (problem) log.warn(problem)
  const address = databaseAddress(config)
  const sql = connectDatabase(address, { name: 'web' })
  const database = openDatabasePing(address, { name: 'web-ping', freshMs: 1000 })
  const registry = createMetrics()
  const stopping = new AbortController()
  const diagnostics = {
    env: source,
    kubernetes: inClusterAddress(source),
    schemaVersion: await findSchemaVersion(),
    onDiagnosis: createDiagnosisMetrics(registry),
    ...options.diagnostics,
  }
  const isDraining = (): boolean => stopping.signal.aborted
  const authMetrics = createAuthMetrics(registry)
  const onLimited = createLimitMetrics(registry)
  const { ping } = database
  const collector = findCollector(config, log)
  const spans = collector && openSpans(collector, { config, log, registry })
  const traces = collector && openTraces(collector)
  const traceTokens =
    collector && openTraceTokens(collector, config.COLLECTOR_PUBLIC_URL ?? collector.collectorUrl)
  const sendPrices = collector && openOwnPrices(collector)
  const traceHolds = collector && openTraceHolds(collector)
  const facts = { config, sql, log, ping, isDraining, diagnostics, authMetrics, onLimited }
  const prices = await loadPrices(config.COLLECTOR_PRICES_FILE)
  const calls = { spans, traces, traceTokens, sendPrices, traceHolds, prices }
  const app = createApp({ ...facts, ...calls, stopping: stopping.signal })
  const mailer = openMailer(config)
  const baseUrl = config.PLATFORM_BASE_URL
  const mails = mailer && startAlertMails({ sql, log, mailer, baseUrl })
  return serveWithMetrics({
    // The bindings are what @hono/node-server passes.
    fetch: (request, env) => app.fetch(request, env as HttpBindings),
    port: config.PORT,
    host: config.HOST,
    metricsPort: config.METRICS_PORT,
    registry,
    log,
    lingerMs: options.lingerMs ?? 5000,
    requestTimeoutMs: UPLOAD_MS,
    bodyBytesMin: BODY_BYTES_MIN,
    onDrain: () => stopping.abort(),
    async close() {
      await mails?.stop()
      await Promise.all([sql.end({ timeout: 5 }), database.close(), spans?.stop()])
    },
  })
}

/** The number of the last migration; undefined where they do not lie beside this program. */
async function findSchemaVersion(): Promise<number | undefined> {
  const folder = new URL('../platform/migrations/', import.meta.url)
  const names = await listMigrations(folder).catch(() => [])
  return Number.parseInt(names.at(-1) ?? '', 10) || undefined
}

type Collector = Pick<SpanSenderOptions, 'collectorUrl' | 'secret'>

function findCollector(
  { COLLECTOR_URL: collectorUrl, COLLECTOR_JWT_SECRET: secret }: WebConfig,
  log: Log,
): Collector | undefined {
  if (collectorUrl === undefined) return undefined
  if (secret !== undefined) return { collectorUrl, secret }
  log.warn('COLLECTOR_URL is set and COLLECTOR_JWT_SECRET is not: there are no traces; set both')
  return undefined
}

interface SpanSource {
  readonly config: WebConfig
  readonly log: Log
  readonly registry: Registry
}

const openSpans = (collector: Collector, { config, log, registry }: SpanSource): SpanSender =>
  createSpanSender({
    ...collector,
    service: 'web',
    version: config.PLATFORM_VERSION,
    log,
    onSpans: countSpans(registry, 'web'),
  })

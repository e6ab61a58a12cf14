import { randomUUID } from 'node:crypto'
import type { Registry } from 'prom-client'
import { hasDueCrews } from '../platform/crews/crew-leases.ts'
import { hasDuePulls } from '../platform/crews/source-repositories.ts'
import { hasDueCases } from '../platform/evaluations/evaluation-queue.ts'
import { hasDueTraceRules } from '../platform/evaluations/trace-scores.ts'
import { hasDueScores } from '../platform/evaluations/run-scores.ts'
import { hasDueReplays } from '../platform/replays/replay-queue.ts'
import { hasDueLines } from '../platform/webhooks/webhook-outbox.ts'
import { measureBudgets } from '../platform/budgets/budgets.ts'
import { settleCalledRuns } from '../platform/runs/called-runs.ts'
import { measureQueue } from '../platform/runs/queue-size.ts'
import { leaveQueue, putBackRun, takeRuns } from '../platform/runs/run-queue.ts'
import { measureForwards } from '../platform/traces/forward-queue.ts'
import { measureOutbox } from '../platform/webhooks/webhook-deliveries.ts'
import { readerOf } from '../platform/connections/llm-usage.ts'
import { oauthServiceOf } from '../shared/oauth-service.ts'
import { connectDatabase } from '../shared/postgres/database.ts'
import { databaseAddress } from '../shared/postgres/address.ts'
import type { Database } from '../shared/postgres/database.ts'
import { openDatabasePing } from '../shared/postgres/ping.ts'
import type { CollectorPlace } from '../shared/collector-call.ts'
import { deadline } from '../shared/deadline.ts'
import { readEnv } from '../shared/env.ts'
import type { EnvSource } from '../shared/env.ts'
import { toError } from '../shared/errors.ts'
import { loadPrices } from '../shared/prices/load-prices.ts'
import type { Price } from '../shared/prices/price-table.ts'
import { createLog } from '../shared/log.ts'
import type { Log } from '../shared/log.ts'
import { createMetrics } from '../shared/http/metrics.ts'
import { keepConnections } from '../shared/http/post-lines.ts'
import { serve } from '../shared/http/serve.ts'
import type { Service } from '../shared/http/serve.ts'
import { createApp } from './app.ts'
import { registerBudgetGauges } from './run/budget-metrics.ts'
import { workerEnv } from './env.ts'
import type { WorkerConfig } from './env.ts'
import { startLoop } from './run/loop.ts'
import { startEvaluations } from './evaluations/start-evaluations.ts'
import { startScores } from './evaluations/start-scores.ts'
import { startTraceScores } from './evaluations/start-trace-scores.ts'
import { startReplays } from './replays/start-replays.ts'
import { listen } from '../shared/postgres/listen.ts'
import type { Loop } from './run/loop.ts'
import { startCrews } from './deployments/start-crews.ts'
import { startPulls } from './git/start-pulls.ts'
import { createDescribe } from './run/describe-crew.ts'
import { createFileHandover } from './run/hand-files.ts'
import type { HandFiles } from './run/hand-files.ts'
import { createWorkerMetrics } from './run/metrics.ts'
import type { WorkerMetrics } from './run/metrics.ts'
import { listChores, startChores } from './start-chores.ts'
import type { Lane } from './start-chores.ts'
import { startErasures } from './start-erasures.ts'
import { startRetentions } from './start-retentions.ts'
import { performRun } from './run/perform-run.ts'
import { shareConnections } from './run/resolve-models.ts'
import { createProgressWriter } from './run/progress-writer.ts'
import { openTracing } from './run/run-trace.ts'
import type { Tracing } from './run/run-trace.ts'
import { openTextRelay } from './run/text-relay.ts'
import type { TextRelay } from './run/text-relay.ts'
import { watchBudgets } from './run/watch-budgets.ts'
import { startForwarding } from './trace-forwards/start-trace-forwards.ts'
import { startWebhooks } from './webhooks/start-webhooks.ts'

/** Every insert calls workers; each look says when to look next. Covers a lost notification. */
const POLL_MS = 10_000
/** Little beside what a run takes that calls a model. */
const GATHER_MS = 25
const STUCK_MS = 70_000
const SCRAPE_MS = 2000
const HTTP_DRAIN_MS = 1000
/**
 * The time that a stop takes beside the drain: the last results, the last traces, the connections.
 */
const CLOSE_MS = 20_000

/**
 * Starts a worker. Raises `invalid_configuration`; an unavailable database only makes `/health`
 * fail until it is back.
 */
export async function start(source: EnvSource, options: { log?: Log } = {}): Promise<Service> {
  const config = readEnv(workerEnv, source)
  const prices = await loadPrices(config.COLLECTOR_PRICES_FILE)
  const log = options.log ?? createLog({ name: 'worker', level: config.LOG_LEVEL })
  const address = databaseAddress(config)
  const { sql, queue, journals, end } = connectDatabases(address)
  const database = openDatabasePing(address, { name: 'worker-ping' })
  const registry = createMetrics()
  let loop: Loop | undefined
  const stops = new Map<string, AbortController>()
  const metrics = openMetrics(registry, sql, () => loop?.running() ?? 0)
  const tracing = openTracing(config, log, metrics.spans)
  let draining = false
  const app = createApp({
    log,
    registry,
    isAlive: () => draining || (loop?.idleMs() ?? 0) < STUCK_MS,
    async check() {
      if (draining) throw new Error('draining')
      await database.ping()
    },
    queue: () => inTime('queue', () => measureQueue(sql)),
  })
  const { PORT: port, HOST: host } = config
  const drainMs = config.WORKER_DRAIN_SECONDS * 1000
  const http = { fetch: app.fetch, port, host, log, drainMs: HTTP_DRAIN_MS }
  const service = await serve(http).catch(async (thrown: unknown) => {
    await Promise.all([tracing.stop(), database.close(), end(5)])
    throw thrown
  })
  const texts = openTextRelay({ sql, log })
  const crews = { ...crewAccess(config), handFiles: createFileHandover(sql) }
  const collector = findCollector(config)
  const parts = { queue, journals, prices, tracing, metrics, stops, texts, collector }
  const work = { config, source, log, sql, ...parts }
  const channel = `queue_${randomUUID()}`
  loop = startWork({ ...work, crews, channel })
  const beside = startBeside({ ...work, crews })
  const hosted = startCrews({ config, source, log, sql, registry })
  const crewLane = { name: 'the care of crews', isDue: hasDueCrews, wake: hosted.wake }
  const lanes = [...beside.lanes, crewLane]
  const chores = startChores(sql, listChores({ ...work, lanes }), log)
  const stopListening = hearOfRuns({ sql, log, stops, loop, channel })
  async function stop(): Promise<void> {
    draining = true
    for (const stop of stopListening) stop()
    texts.stop()
    await chores.stop()
    await Promise.all([loop?.stop(drainMs), beside.stop(drainMs)])
    crews.pool.close()
    // Runs in flight may be on crews of this process.
    await hosted.stop()
    await tracing.stop()
    await service.stop()
    await Promise.all([database.close(), end(1)])
  }
  let stopped: Promise<void> | undefined
  return { url: service.url, stopMs: drainMs + CLOSE_MS, stop: () => (stopped ??= stop()) }
}

/** Starts what a worker does beside its runs. */
function startBeside({ config, source, log, sql, metrics, crews, prices, collector }: Work) {
  const retention = startRetentions({ config, log, sql, onExpired: metrics.expired })
  const pulls = startPulls({ config, source, log, sql })
  const webhooks = startWebhooks({ sql, log, config, onAttempt: metrics.webhookTried })
  const models = { readVariable: readerOf(source), oauth: oauthServiceOf(config) }
  const replays = startReplays({ sql, log, prices, ...models, ...crews })
  const evaluations = startEvaluations({ sql, log, prices, ...models, ...crews })
  const scores = startScores({ sql, log, prices, ...models, ...crews })
  const ofTraces = startTraceScores({ sql, log, prices, collector, ...models, ...crews })
  const erasures = startErasures({ config, log, sql })
  const forwards = startForwarding({ config, sql, log, onForwarded: metrics.forwarded })
  const lanes: readonly Lane[] = [
    ...erasures.lanes,
    ...forwards.lanes,
    { name: 'webhooks', isDue: hasDueLines, wake: webhooks.wake },
    { name: 'replays', isDue: hasDueReplays, wake: replays.wake },
    { name: 'evaluations', isDue: hasDueCases, wake: evaluations.wake },
    { name: 'scores of runs', isDue: hasDueScores, wake: scores.wake },
    { name: 'scores of traces', isDue: hasDueTraceRules, wake: ofTraces.wake },
    { name: 'pulls of repositories', isDue: hasDuePulls, wake: pulls.wake },
  ]
  return {
    lanes,
    async stop(drainMs: number): Promise<void> {
      const lines = [webhooks, replays, evaluations, scores, ofTraces, forwards]
      const drained = lines.map((each) => each.stop(drainMs))
      await Promise.all([...drained, retention.stop(), pulls.stop(), erasures.stop()])
    },
  }
}

/** How crews are called. */
const findCollector = ({
  COLLECTOR_URL: collectorUrl,
  COLLECTOR_JWT_SECRET: secret,
}: WorkerConfig): CollectorPlace | undefined =>
  collectorUrl && secret ? { collectorUrl, secret, service: 'worker' } : undefined

const crewAccess = (config: WorkerConfig) => ({
  secretKeyBase: config.SECRET_KEY_BASE,
  previousSecretKeyBase: config.SECRET_KEY_BASE_PREVIOUS,
  crewPatienceMs: config.CREW_PATIENCE_SECONDS * 1000,
  pool: keepConnections(),
})

const inTime = <Size>(name: string, measure: () => Promise<Size>): Promise<Size> =>
  deadline({ name, timeoutMs: SCRAPE_MS }, measure)

function openMetrics(registry: Registry, sql: Database, running: () => number): WorkerMetrics {
  registerBudgetGauges(registry, () => measureBudgets(sql))
  return createWorkerMetrics(registry, {
    running,
    queue: () => inTime('queue', () => measureQueue(sql)),
    outbox: () => inTime('outbox', () => measureOutbox(sql)),
    forwards: () => inTime('trace forwards', () => measureForwards(sql)),
  })
}

function connectDatabases(address: Parameters<typeof connectDatabase>[0]) {
  const sql = connectDatabase(address, { name: 'worker', max: 9 })
  // Of their own, so that no step waits for another statement, and few for a slow commit: with more
  // of them, commits would be smaller and cost more. The second connection is for when one hangs.
  const journals = ['worker-journal', 'worker-journal-2'].map((name) =>
    connectDatabase(address, { name, max: 2, looksUpRows: true }),
  )
  // One: each connection plans the statements of a take anew, which costs as much as many takes.
  const queue = connectDatabase(address, { name: 'worker-queue', max: 1 })
  const end = (timeout: number) =>
    Promise.all([sql, queue, ...journals].map((each) => each.end({ timeout })))
  return { sql, queue, journals, end }
}

interface Hearing extends Pick<Work, 'sql' | 'log' | 'stops'> {
  readonly loop: Loop
  /** On which this worker alone is called. */
  readonly channel: string
}

/** Hears of runs that are queued, that are stopped, and that others wait for. */
function hearOfRuns({ sql, log, stops, loop, channel }: Hearing): (() => void)[] {
  function settleCalled(): void {
    settleCalledRuns(sql).catch((thrown: unknown) => {
      log.warn({ reason: toError(thrown).message }, 'runs that wait are looked at later')
    })
  }
  return [
    listen(sql, { channel: 'execution_queued', hear: loop.wake, onOpen: loop.wake, log }),
    listen(sql, { channel, hear: loop.call, onOpen: loop.wake, log }),
    // One that went unheard is noticed when the lease is to be renewed.
    listen(sql, { channel: 'execution_stopped', hear: (id) => stops.get(id)?.abort(), log }),
    // One that went unheard is noticed at the next look at what was lost.
    listen(sql, { channel: 'called_run_ended', hear: settleCalled, log }),
  ]
}

interface Work {
  readonly config: WorkerConfig
  readonly source: EnvSource
  readonly log: Log
  readonly sql: Database
  /** The connection for takes. */
  readonly queue: Database
  /** The connections for what runs report. */
  readonly journals: readonly Database[]
  readonly prices: readonly Price[]
  readonly tracing: Tracing
  readonly metrics: WorkerMetrics
  readonly collector: CollectorPlace | undefined
  /** Stops the runs of this worker, by their ids. */
  readonly stops: Map<string, AbortController>
  readonly texts: TextRelay
  readonly crews: ReturnType<typeof crewAccess> & { readonly handFiles: HandFiles }
}

function startWork(all: Work & { readonly channel: string }): Loop {
  const { config, source, log, sql, queue, journals, channel, ...work } = all
  const { prices, tracing, metrics, stops, texts, crews } = work
  const deps = {
    sql,
    log,
    ...watchBudgets(sql, prices),
    tracing,
    texts,
    progress: createProgressWriter({ together: journals, alone: sql }),
    readVariable: readerOf(source),
    oauth: oauthServiceOf(config),
    ...crews,
    connectionsOf: shareConnections(sql),
    describe: createDescribe(),
    runTimeoutMs: config.EXECUTION_TIMEOUT_SECONDS * 1000,
    onCrewUnavailable: metrics.crewUnavailable,
  }
  return startLoop({
    take: (limit, onEmpty) => takeRuns(queue, limit, { channel, onEmpty }),
    passOn: () => leaveQueue(queue, channel),
    async run(run, signals) {
      const started = performance.now()
      const stop = new AbortController()
      stops.set(run.id, stop)
      const outcome = await performRun(deps, run, { ...signals, stopped: stop.signal })
      if (stops.get(run.id) === stop) stops.delete(run.id)
      metrics.ended(outcome, (performance.now() - started) / 1000)
    },
    putBack: (run) => putBackRun(sql, run),
    concurrency: config.WORKER_CONCURRENCY,
    pollMs: POLL_MS,
    gatherMs: GATHER_MS,
    log,
  })
}

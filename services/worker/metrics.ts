import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { QueueSize } from '../platform/run-queue.ts'
import { OUTCOMES } from './ending.ts'
import type { Outcome } from './ending.ts'
import { countSpans } from '../shared/tracing/span-metrics.ts'
import type { SpanCount } from '../shared/tracing/span-buffer.ts'

const DURATION_BUCKETS = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]

/** The counters of a worker. */
export interface WorkerMetrics {
  readonly ended: (outcome: Outcome, seconds: number) => void
  readonly crewUnavailable: () => void
  readonly spans: (count: SpanCount) => void
  readonly expired: (count: number) => void
}

/** The sources of a worker's gauges. */
interface MetricSources {
  readonly running: () => number
  /** Asked at each scrape. */
  readonly queue: () => Promise<QueueSize>
}

/** The worker's own metrics, each from its first scrape on. */
export function createWorkerMetrics(registry: Registry, sources: MetricSources): WorkerMetrics {
  const registers = [registry]
  const runs = new Counter({
    name: 'worker_executions_total',
    help: 'Runs that ended on this worker: completed, error, retried, released, revoked.',
    labelNames: ['outcome'] as const,
    registers,
  })
  const durations = new Histogram({
    name: 'worker_execution_duration_seconds',
    help: 'The time that runs took on this worker.',
    labelNames: ['outcome'] as const,
    buckets: DURATION_BUCKETS,
    registers,
  })
  const unavailable = new Counter({
    name: 'worker_crew_away_total',
    help: 'Times that an unavailable crew was tried again.',
    registers,
  })
  const expired = new Counter({
    name: 'worker_executions_expired_total',
    help: 'Runs that were deleted because their retention had ended.',
    registers,
  })
  for (const outcome of OUTCOMES) runs.inc({ outcome }, 0)
  registerGauges(registry, sources)
  return {
    ended(outcome, seconds) {
      runs.inc({ outcome })
      durations.observe({ outcome }, seconds)
    },
    crewUnavailable: () => unavailable.inc(),
    spans: countSpans(registry, 'worker'),
    expired: (count) => expired.inc(count),
  }
}

function registerGauges(registry: Registry, { running, queue }: MetricSources): void {
  const registers = [registry]
  new Gauge({
    name: 'worker_executions_running',
    help: 'Runs that this worker performs now.',
    registers,
    collect() {
      this.set(running())
    },
  })
  const measure = shareWhilePending(() => queue().catch(() => UNKNOWN))
  new Gauge({
    name: 'worker_queue_due',
    help: 'Runs that wait for a worker; NaN while the database is unavailable.',
    registers,
    async collect() {
      this.set((await measure()).due)
    },
  })
  new Gauge({
    name: 'worker_queue_oldest_seconds',
    help: 'The age of the first run that waits; NaN while the database is unavailable.',
    registers,
    async collect() {
      this.set((await measure()).oldestSeconds)
    },
  })
  new Gauge({
    name: 'worker_queue_held_back',
    help:
      'Runs that wait because of the limit of their automation; ' +
      'NaN while the database is unavailable.',
    registers,
    async collect() {
      this.set((await measure()).heldBack)
    },
  })
}

const UNKNOWN: QueueSize = { due: Number.NaN, oldestSeconds: Number.NaN, heldBack: Number.NaN }

/** The gauges of one scrape are collected at the same time: they share one statement. */
function shareWhilePending<Result>(call: () => Promise<Result>): () => Promise<Result> {
  let pending: Promise<Result> | undefined
  return () => (pending ??= call().finally(() => (pending = undefined)))
}

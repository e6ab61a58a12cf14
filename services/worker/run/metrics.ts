import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { QueueSize } from '../../platform/runs/queue-size.ts'
import type { ForwardLag } from '../../platform/traces/forward-queue.ts'
import type { OutboxSize } from '../../platform/webhooks/webhook-deliveries.ts'
import type { WebhookAttempt } from '../../platform/webhooks/webhook-outbox.ts'
import { OUTCOMES } from './ending.ts'
import type { Outcome } from './ending.ts'
import { countSpans } from '../../shared/tracing/span-metrics.ts'
import type { SpanCount } from '../../shared/tracing/span-buffer.ts'

const DURATION_BUCKETS = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]

/** The counters of a worker. */
export interface WorkerMetrics {
  readonly ended: (outcome: Outcome, seconds: number) => void
  readonly crewUnavailable: () => void
  readonly spans: (count: SpanCount) => void
  readonly expired: (count: number) => void
  readonly webhookTried: (attempt: WebhookAttempt) => void
  readonly forwarded: (spans: { readonly accepted: number; readonly rejected: number }) => void
}

/** The sources of a worker's gauges. */
interface MetricSources {
  readonly running: () => number
  /** Asked at each scrape. */
  readonly queue: () => Promise<Pick<QueueSize, 'due' | 'oldestSeconds' | 'heldBack'>>
  /** Asked at each scrape. */
  readonly outbox: () => Promise<OutboxSize>
  /** Asked at each scrape. */
  readonly forwards: () => Promise<ForwardLag>
}

/** The worker's own metrics, each from its first scrape on. */
export function createWorkerMetrics(registry: Registry, sources: MetricSources): WorkerMetrics {
  const registers = [registry]
  const runs = new Counter({
    name: 'worker_executions_total',
    help:
      'Runs that ended on this worker: completed, error, retried, released, waiting, ' + 'revoked.',
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
    webhookTried: countAttempts(registry, sources.outbox),
    forwarded: countForwarded(registry, sources.forwards),
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

const UNKNOWN = { due: Number.NaN, oldestSeconds: Number.NaN, heldBack: Number.NaN }

function countAttempts(
  registry: Registry,
  outbox: MetricSources['outbox'],
): WorkerMetrics['webhookTried'] {
  const registers = [registry]
  const attempts = new Counter({
    name: 'worker_webhook_attempts_total',
    help: 'Messages that were sent to webhooks: accepted, refused by an answer, or unanswered.',
    labelNames: ['outcome'] as const,
    registers,
  })
  for (const outcome of ['accepted', 'refused', 'unanswered']) attempts.inc({ outcome }, 0)
  const unknown: OutboxSize = {
    waiting: Number.NaN,
    oldestSeconds: Number.NaN,
    paused: Number.NaN,
  }
  const measure = shareWhilePending(() => outbox().catch(() => unknown))
  const gauges = {
    waiting: 'Messages that wait to be sent, without those of paused webhooks',
    oldestSeconds: 'The age of the oldest message that waits',
    paused: 'Webhooks that are paused',
  }
  const names = {
    waiting: 'worker_webhook_waiting',
    oldestSeconds: 'worker_webhook_oldest_seconds',
    paused: 'worker_webhook_paused',
  }
  for (const key of ['waiting', 'oldestSeconds', 'paused'] as const) {
    new Gauge({
      name: names[key],
      help: `${gauges[key]}; NaN while the database is unavailable.`,
      registers,
      async collect() {
        this.set((await measure())[key])
      },
    })
  }
  return function tried({ status, problem }) {
    const outcome = problem === null ? 'accepted' : status === null ? 'unanswered' : 'refused'
    attempts.inc({ outcome })
  }
}

/** Shares one call among those who ask at the same time, as the gauges of one scrape do. */
export function shareWhilePending<Result>(call: () => Promise<Result>): () => Promise<Result> {
  let pending: Promise<Result> | undefined
  return () => (pending ??= call().finally(() => (pending = undefined)))
}

function countForwarded(
  registry: Registry,
  forwards: MetricSources['forwards'],
): WorkerMetrics['forwarded'] {
  const registers = [registry]
  const spans = new Counter({
    name: 'worker_trace_forward_spans_total',
    help: 'Spans that were forwarded: accepted, or rejected by the receiver.',
    labelNames: ['outcome'] as const,
    registers,
  })
  for (const outcome of ['accepted', 'rejected']) spans.inc({ outcome }, 0)
  const unknown: ForwardLag = { oldestSeconds: Number.NaN, paused: Number.NaN }
  const measure = shareWhilePending(() => forwards().catch(() => unknown))
  const gauges = {
    oldestSeconds: ['worker_trace_forward_oldest_seconds', 'The age of the oldest span that waits'],
    paused: ['worker_trace_forward_paused', 'Trace forwards that are paused'],
  } as const
  for (const key of ['oldestSeconds', 'paused'] as const) {
    const [name, help] = gauges[key]
    new Gauge({
      name,
      help: `${help}; NaN while the database is unavailable.`,
      registers,
      async collect() {
        this.set((await measure())[key])
      },
    })
  }
  return ({ accepted, rejected }) => {
    spans.inc({ outcome: 'accepted' }, accepted)
    spans.inc({ outcome: 'rejected' }, rejected)
  }
}

import {
  hasDueForwards,
  hasForwards,
  releaseForward,
  takeForwards,
  tellForwarding,
} from '../../platform/traces/forward-queue.ts'
import type { ForwardLease } from '../../platform/traces/forward-queue.ts'
import { createWebhookKeys } from '../../platform/webhooks/webhook-keys.ts'
import { toError } from '../../shared/errors.ts'
import { createForwardProxy } from '../../shared/outgoing/forward-proxy.ts'
import { createWebhookGuard } from '../../shared/outgoing/guards.ts'
import type { Log } from '../../shared/log.ts'
import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { listen } from '../../shared/postgres/listen.ts'
import type { WorkerConfig } from '../env.ts'
import { startLoop } from '../run/loop.ts'
import type { Lane } from '../start-chores.ts'
import { openCommittedSpans } from './collector-spans.ts'
import type { CommittedSpans } from './collector-spans.ts'
import { forwardSpans } from './forward-spans.ts'
import type { ForwardDeps } from './forward-spans.ts'

/** The forwards that one worker serves at a time. */
const CONCURRENCY = 16
/** Looks for new spans, while there are forwards. */
const LOOK_MS = 2000
const IDLE_SECONDS = 5
const TRY_MS = 15_000
/** Longer than a page: each renews it. Forwards of a worker that died wait for so long. */
const LEASE_SECONDS = 45
/** After a look at the collector that failed. */
const COLLECTOR_SECONDS = 5
const DRAIN_MS = 5000

interface TraceForwards extends Pick<ForwardDeps, 'backoff' | 'onForwarded'> {
  readonly sql: Database
  readonly log: Log
  readonly guard: OutgoingGuard
  readonly spans: CommittedSpans
  readonly secretKeyBase: string
  readonly previousSecretKeyBase?: string | undefined
  /** @default 2000 */
  readonly lookMs?: number
  /** @default 5 */
  readonly idleSeconds?: number
  /** @default 45 */
  readonly leaseSeconds?: number
  /** @default 15_000 */
  readonly tryMs?: number
}

/** Forwards committed spans for as long as it runs, beside other workers that do. */
export function startTraceForwards(options: TraceForwards) {
  const { sql, log, spans, secretKeyBase, previousSecretKeyBase } = options
  const { lookMs = LOOK_MS, idleSeconds = IDLE_SECONDS, leaseSeconds = LEASE_SECONDS } = options
  const keys = createWebhookKeys(secretKeyBase, previousSecretKeyBase)
  const deps = { ...options, keys, timeoutMs: options.tryMs ?? TRY_MS, idleSeconds, leaseSeconds }
  let hasFailed = false
  /** Once, not with each look while the collector is unavailable. */
  const note = (thrown: unknown): void => {
    const reason = toError(thrown).message
    if (!hasFailed) log.warn({ reason }, 'spans are forwarded later; trying again')
    hasFailed = true
  }
  async function run(lease: ForwardLease, signals: Parameters<typeof forwardSpans>[2]) {
    try {
      await forwardSpans(deps, lease, signals)
      hasFailed = false
    } catch (thrown) {
      if (!signals.drain.aborted) note(thrown)
      await releaseForward(sql, lease, COLLECTOR_SECONDS)
    }
  }
  const loop = startLoop<ForwardLease>({
    async take(limit, rest) {
      await tellForwarding(sql, (needed) => spans.tell(needed)).catch(note)
      const leases = await takeForwards(sql, { limit, leaseSeconds })
      // Also beside those that are at work: one whose receiver hangs delays no other.
      if (leases.length > 0 || (await hasForwards(sql))) rest(lookMs)
      return leases
    },
    run,
    putBack: (lease) => releaseForward(sql, lease, 0),
    concurrency: CONCURRENCY,
    log,
  })
  const { wake } = loop
  const stopListening = listen(sql, { channel: 'trace_forward_due', hear: wake, onOpen: wake, log })
  const lanes: readonly Lane[] = [{ name: 'trace forwards', isDue: hasDueForwards, wake }]
  return {
    lanes,
    async stop(drainMs: number): Promise<void> {
      stopListening()
      await loop.stop(Math.min(drainMs, DRAIN_MS))
    },
  }
}

interface Forwarding extends Pick<TraceForwards, 'sql' | 'log' | 'onForwarded'> {
  readonly config: WorkerConfig
}

/** Forwards what the trace collector has; nothing without one. */
export function startForwarding({ config, ...deps }: Forwarding) {
  const { COLLECTOR_URL: collectorUrl, COLLECTOR_JWT_SECRET: secret } = config
  if (!collectorUrl || !secret) return { lanes: [], stop: async () => {} }
  return startTraceForwards({
    ...deps,
    guard: createWebhookGuard(config.WEBHOOK_PRIVATE_ORIGINS, createForwardProxy(config)),
    spans: openCommittedSpans({ collectorUrl, secret, service: 'worker' }),
    secretKeyBase: config.SECRET_KEY_BASE,
    previousSecretKeyBase: config.SECRET_KEY_BASE_PREVIOUS,
  })
}

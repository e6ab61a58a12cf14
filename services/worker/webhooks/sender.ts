import { createWebhookKeys } from '../../platform/webhooks/webhook-keys.ts'
import { hasLines, releaseLine, takeLines } from '../../platform/webhooks/webhook-outbox.ts'
import type {
  OutboxLimits,
  WebhookAttempt,
  WebhookLine,
} from '../../platform/webhooks/webhook-outbox.ts'
import type { Log } from '../../shared/log.ts'
import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { listen } from '../../shared/postgres/listen.ts'
import { startLoop } from '../run/loop.ts'
import { sendLine } from './send-line.ts'

/** The lines that one worker sends at a time. */
const CONCURRENCY = 16
/** Finds what became due again, while something waits. */
const RETRIES_MS = 2000
const TRY_MS = 15_000
/** Longer than a try: each message renews it. Lines of a worker that died wait for so long. */
const LEASE_SECONDS = 20

/** The outbox of a sender, and how it signs. */
export interface SenderDeps {
  readonly sql: Database
  readonly log: Log
  readonly guard: OutgoingGuard
  readonly secretKeyBase: string
  readonly previousSecretKeyBase?: string | undefined
  readonly onAttempt: (attempt: WebhookAttempt) => void
  /** @default 20 s, and retries for a day */
  readonly limits?: OutboxLimits
  /** @default 15_000 */
  readonly tryMs?: number
  readonly pollMs?: number
}

/** A sender that runs. */
export interface WebhookSender {
  readonly wake: () => void
  /** Takes nothing more; what is on its way after `drainMs` is sent again by another sender. */
  stop(drainMs: number): Promise<void>
}

/** Sends the messages of webhooks for as long as it runs, beside other workers that do. */
export function startWebhookSender({
  sql,
  log,
  guard,
  onAttempt,
  tryMs = TRY_MS,
  pollMs,
  limits = { leaseSeconds: LEASE_SECONDS },
  ...secrets
}: SenderDeps): WebhookSender {
  const keys = createWebhookKeys(secrets.secretKeyBase, secrets.previousSecretKeyBase)
  const deps = { sql, guard, keys, onAttempt, timeoutMs: tryMs, limits }
  const loop = startLoop<WebhookLine>({
    async take(limit, rest) {
      const lines = await takeLines(sql, { limit, leaseSeconds: limits.leaseSeconds })
      if (lines.length === 0 && (await hasLines(sql))) rest(RETRIES_MS)
      return lines
    },
    run: (line, signals) => sendLine(deps, line, signals),
    putBack: (line) => releaseLine(sql, line),
    concurrency: CONCURRENCY,
    pollMs,
    log,
  })
  const { wake } = loop
  const stopListening = listen(sql, { channel: 'webhook_due', hear: wake, onOpen: wake, log })
  return {
    wake,
    async stop(drainMs) {
      stopListening()
      await loop.stop(drainMs)
    },
  }
}

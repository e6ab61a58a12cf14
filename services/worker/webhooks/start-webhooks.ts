import { deleteEndedTaskWebhooks } from '../../platform/a2a/task-webhooks.ts'
import { deleteExpiredMessages } from '../../platform/webhooks/webhook-deliveries.ts'
import type { WebhookAttempt } from '../../platform/webhooks/webhook-outbox.ts'
import type { Log } from '../../shared/log.ts'
import { createForwardProxy } from '../../shared/outgoing/forward-proxy.ts'
import type { ProxyConfig } from '../../shared/outgoing/forward-proxy.ts'
import { createWebhookGuard } from '../../shared/outgoing/guards.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { startRetention } from '../retention.ts'
import { startWebhookSender } from './sender.ts'
import type { WebhookSender } from './sender.ts'

/** For what is on its way; the rest is sent by another worker, or by the next one. */
const DRAIN_MS = 5000

interface Webhooks {
  readonly sql: Database
  readonly log: Log
  readonly config: ProxyConfig & {
    readonly SECRET_KEY_BASE: string
    readonly SECRET_KEY_BASE_PREVIOUS?: string | undefined
    readonly WEBHOOK_PRIVATE_ORIGINS: readonly string[]
  }
  readonly onAttempt: (attempt: WebhookAttempt) => void
}

/** Sends what webhooks are to be told, and deletes what they were told long ago. */
export function startWebhooks({ sql, log, config, onAttempt }: Webhooks): WebhookSender {
  const sender = startWebhookSender({
    sql,
    log,
    guard: createWebhookGuard(config.WEBHOOK_PRIVATE_ORIGINS, createForwardProxy(config)),
    secretKeyBase: config.SECRET_KEY_BASE,
    previousSecretKeyBase: config.SECRET_KEY_BASE_PREVIOUS,
    onAttempt,
  })
  const retention = startRetention({
    of: 'messages to webhooks',
    expire: async () => (await deleteExpiredMessages(sql)) + (await deleteEndedTaskWebhooks(sql)),
    onDeleted: () => {},
    log,
  })
  return {
    wake: sender.wake,
    async stop(drainMs) {
      await Promise.all([sender.stop(Math.min(drainMs, DRAIN_MS)), retention.stop()])
    },
  }
}

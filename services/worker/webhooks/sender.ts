import { createWebhookKeys } from '../../platform/webhooks/webhook-keys.ts'
import {
  hasLines,
  releaseLine,
  takeLines,
  settleAccepted,
  settleRefused,
  takeHead,
} from '../../platform/webhooks/webhook-outbox.ts'
import type {
  OutboxLimits,
  WebhookAttempt,
  WebhookLine,
  WebhookHead,
} from '../../platform/webhooks/webhook-outbox.ts'
import type { Log } from '../../shared/log.ts'
import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { listen } from '../../shared/postgres/listen.ts'
import { isInside } from '../../platform/connections/regions.ts'
import { startLoop } from '../run/loop.ts'
import type { LoopSignals } from '../run/loop.ts'
import { retryStatement } from '../run/retry-statement.ts'
import { postMessage } from './post-message.ts'
import type { PostDeps } from './post-message.ts'

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

/** Then the line waits for its next turn, behind those of others. */
const MESSAGES_PER_TURN = 20
const GONE = 410
/**
 * The time for what became of a message to be stored, longer than a restart of PostgreSQL takes.
 * What is not stored is sent again.
 */
const STORE_MS = 120_000

interface LineDeps extends PostDeps {
  readonly sql: Database
  readonly limits: OutboxLimits
  readonly onAttempt: (attempt: WebhookAttempt) => void
}

/**
 * Sends the messages of a line one after the other, until one is not accepted or none waits. What
 * is on its way when the process stops is sent again, under the same id.
 */
async function sendLine(
  deps: LineDeps,
  line: WebhookLine,
  { pause, drain }: LoopSignals,
): Promise<void> {
  const { sql, limits, onAttempt } = deps
  const { leaseSeconds, retrySeconds } = limits
  const patience = { forMs: STORE_MS, signal: drain }
  for (let sent = 0; sent < MESSAGES_PER_TURN && !pause.aborted; sent += 1) {
    const head = await retryStatement(() => takeHead(sql, line, leaseSeconds), patience)
    if (!head) break
    const attempt = await tryOnce(deps, { line, head }, drain)
    if (!attempt) break
    onAttempt(attempt)
    if (attempt.problem !== null) {
      const pausedFor = pauseReason(head, attempt)
      const refusal = { head, attempt, pausedFor, retrySeconds }
      return retryStatement(() => settleRefused(sql, line, refusal), patience)
    }
    const accepted = { id: head.id, attempt }
    if (!(await retryStatement(() => settleAccepted(sql, line, accepted), patience))) return
  }
  await retryStatement(() => releaseLine(sql, line), patience)
}

/** Why a webhook that did not accept a message will accept no other one. */
function pauseReason(head: WebhookHead, { status, problem }: WebhookAttempt): string | undefined {
  if (!isInside(head.allowedRegions, head)) return problem ?? undefined
  return status === GONE
    ? 'The receiver answered HTTP 410 Gone: it wants no more messages.'
    : undefined
}

/** Undefined when the process stops meanwhile. */
async function tryOnce(
  deps: LineDeps,
  message: { readonly line: WebhookLine; readonly head: WebhookHead },
  drain: AbortSignal,
): Promise<WebhookAttempt | undefined> {
  try {
    return await postMessage(deps, message, drain)
  } catch (thrown) {
    if (drain.aborted) return undefined
    throw thrown
  }
}

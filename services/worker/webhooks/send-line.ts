import { isInside } from '../../platform/connections/regions.ts'
import {
  releaseLine,
  settleAccepted,
  settleRefused,
  takeHead,
} from '../../platform/webhooks/webhook-outbox.ts'
import type {
  OutboxLimits,
  WebhookAttempt,
  WebhookHead,
  WebhookLine,
} from '../../platform/webhooks/webhook-outbox.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { LoopSignals } from '../run/loop.ts'
import { retryStatement } from '../run/retry-statement.ts'
import { postMessage } from './post-message.ts'
import type { PostDeps } from './post-message.ts'

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
export async function sendLine(
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

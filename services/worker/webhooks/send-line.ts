import {
  findHead,
  releaseLine,
  settleAccepted,
  settleRefused,
} from '../../platform/webhook-outbox.ts'
import type {
  OutboxLimits,
  WebhookAttempt,
  WebhookHead,
  WebhookLine,
} from '../../platform/webhook-outbox.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { LoopSignals } from '../loop.ts'
import { postMessage } from './post-message.ts'
import type { PostDeps } from './post-message.ts'

/** Then the line waits for its next turn, behind those of others. */
const MESSAGES_PER_TURN = 20
const GONE = 410

/** The means to send the messages of a line. */
export interface LineDeps extends PostDeps {
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
  for (let sent = 0; sent < MESSAGES_PER_TURN && !pause.aborted; sent += 1) {
    const head = await findHead(sql, line)
    if (!head) break
    const attempt = await tryOnce(deps, { line, head }, drain)
    if (!attempt) break
    onAttempt(attempt)
    if (attempt.problem !== null) {
      const isGone = attempt.status === GONE
      await settleRefused(sql, line, { head, attempt, isGone, retrySeconds })
      return
    }
    if (!(await settleAccepted(sql, line, { id: head.id, attempt, leaseSeconds }))) return
  }
  await releaseLine(sql, line)
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
